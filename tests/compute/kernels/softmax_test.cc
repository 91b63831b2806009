#include "compute/kernels/softmax.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "support/every_target.h"
#include "support/reference/vector_reference.h"

namespace kvern::compute {
namespace {

using test::normal_floats;
using test::same_on_every_target;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(LogSumExp, IsTheFormulaAndTheSameOnEveryTarget) {
  for (const int64_t n : {1, 15, 16, 17, 1023, 1024, 1025, 151936}) {
    SCOPED_TRACE(n);
    auto x = normal_floats(n, 5.0F);
    for (float& v : x) v += 300.0F;  // far beyond where e^x overflows
    const auto sum =
        same_on_every_target([&](Context& context) { return std::vector<double>{log_sum_exp(context, x)}; });
    EXPECT_NEAR(sum[0], reference::log_sum_exp(x), 1e-6);
  }
}

TEST(LogSumExp, TreatsInfinitiesAndNanAsItSays) {
  Context context(*best_target(), 1);
  EXPECT_EQ(log_sum_exp(context, std::vector<float>{-kInfinity, -kInfinity}), -kInfinity);
  EXPECT_EQ(log_sum_exp(context, std::vector<float>{0.0F, kInfinity}), kInfinity);
  EXPECT_NEAR(log_sum_exp(context, std::vector<float>{-kInfinity, 2.0F}), 2.0, 1e-7);
  for (size_t at = 0; at < 40; ++at) {
    std::vector<float> x(40, 1.0F);
    x[at] = kNan;
    EXPECT_TRUE(std::isnan(log_sum_exp(context, x))) << at;
  }
}

TEST(Softmax, GivesProbabilities) {
  for (const int64_t n : {1, 17, 1000, 32000}) {
    const auto x = normal_floats(n, 4.0F);
    const auto p = same_on_every_target([&](Context& context) {
      auto out = x;
      softmax(context, out);
      return out;
    });
    EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1.0, 1e-5);
    const double sum = reference::log_sum_exp(x);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(p[i], std::exp(x[i] - sum), 3e-6 * p[i] + 1e-30);
  }
}

TEST(Softmax, OfNothingPossibleIsZero) {
  Context context(*best_target(), 1);
  std::vector<float> x = {-kInfinity, -kInfinity, -kInfinity};
  softmax(context, x);
  EXPECT_EQ(x, (std::vector<float>{0.0F, 0.0F, 0.0F}));
}

TEST(Argmax, IsTheLowestIndexOfTheLargest) {
  for (const CpuTarget target : test::supported_targets()) {
    Context context(target, 1);
    for (const size_t n : {1, 16, 17, 100}) {
      for (size_t at = 0; at < n; ++at) {
        std::vector<float> x(n, -1.0F);
        x[at] = 3.0F;
        x[n - 1] = at == n - 1 ? 3.0F : x[n - 1];
        EXPECT_EQ(argmax(context, x), static_cast<int64_t>(at));
        x[n - 1] = 3.0F;  // a tie
        EXPECT_EQ(argmax(context, x), static_cast<int64_t>(at));
      }
    }
    EXPECT_EQ(argmax(context, std::vector<float>{kNan, 1.0F, 2.0F}), 2);
    EXPECT_EQ(argmax(context, std::vector<float>{kNan, kNan}), 0);
    EXPECT_EQ(argmax(context, std::vector<float>{-kInfinity, -kInfinity}), 0);
  }
}

}  // namespace
}  // namespace kvern::compute
