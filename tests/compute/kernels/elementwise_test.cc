#include "compute/kernels/elementwise.h"

#include <cmath>

#include <gtest/gtest.h>

#include "support/every_target.h"

namespace kvern::compute {
namespace {

using test::normal_floats;
using test::same_on_every_target;

constexpr int64_t kSizes[] = {1, 15, 16, 33, 1000, 200001};

TEST(Elementwise, AddAndScaleRoundOnce) {
  for (const int64_t n : kSizes) {
    const auto a = normal_floats(n);
    const auto b = normal_floats(n, 2.0F, 2);
    const auto sum = same_on_every_target([&](Context& context) {
      std::vector<float> out(a.size());
      add(context, a, b, out);
      return out;
    });
    const auto scaled = same_on_every_target([&](Context& context) {
      auto out = a;
      scale(context, out, 0.3F);
      return out;
    });
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(sum[i], a[i] + b[i]);
      ASSERT_EQ(scaled[i], a[i] * 0.3F);
    }
  }
}

TEST(Elementwise, AddBiasAddsItToEveryTokenAndNothingBetween) {
  constexpr int64_t kN = 21;
  constexpr int64_t kStride = 30;
  const auto bias = normal_floats(kN, 1.0F, 2);
  auto x = normal_floats(7 * kStride);
  const auto before = x;
  Context context(*best_target(), 3);
  add_bias(context, {.x = x.data(), .tokens = 7, .stride = kStride}, bias);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t column = i % kStride;
    EXPECT_EQ(x[i], column < kN ? before[i] + bias[column] : before[i]);
  }
}

TEST(Elementwise, SoftCapIsCapTimesTanh) {
  for (const float cap : {1.0F, 30.0F, 50.0F}) {
    std::vector<float> x;
    for (float v = -8.0F * cap; v < 8.0F * cap; v += cap / 256) x.push_back(v);
    for (const float v : {0.0F, 1e-6F, -1e-20F, 1e20F, -1e20F}) x.push_back(v);
    const auto out = same_on_every_target([&](Context& context) {
      auto result = x;
      soft_cap(context, result, cap);
      return result;
    });
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = cap * std::tanh(static_cast<double>(x[i]) / cap);
      ASSERT_NEAR(out[i], want, 3e-7 * std::abs(want)) << "at " << x[i];
    }
  }
}

}  // namespace
}  // namespace kvern::compute
