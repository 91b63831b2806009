#include "compute/kernels/norm.h"

#include <numeric>

#include <gtest/gtest.h>

#include "support/every_target.h"
#include "support/reference/lanes_reference.h"
#include "support/reference/vector_reference.h"

namespace kvern::compute {
namespace {

using test::normal_floats;
using test::same_on_every_target;

constexpr int64_t kSizes[] = {1, 15, 16, 17, 64, 100, 2048};

TEST(RmsNorm, IsTheFormulaAndTheSameOnEveryTarget) {
  for (const int64_t n : kSizes) {
    SCOPED_TRACE(n);
    constexpr int64_t kTokens = 5;
    const auto x = normal_floats(kTokens * n, 3.0F);
    const auto weight = normal_floats(n, 1.0F, 2);
    const auto out = same_on_every_target([&](Context& context) {
      std::vector<float> result(x.size());
      rms_norm(context, {.x = x.data(), .out = result.data(), .tokens = kTokens, .n = n},
               {.weight = weight.data(), .eps = 1e-5F, .weight_offset = 1.0F});
      return result;
    });
    for (int64_t t = 0; t < kTokens; ++t) {
      const auto row = std::span(x).subspan(static_cast<size_t>(t * n), static_cast<size_t>(n));
      const auto expected = reference::rms_norm(row, weight, 1e-5F, 1.0);
      for (int64_t i = 0; i < n; ++i) {
        const double want = expected[static_cast<size_t>(i)];
        EXPECT_NEAR(out[static_cast<size_t>(t * n + i)], want, 1e-6 * std::abs(want) + 1e-12);
      }
    }
  }
}

TEST(RmsNorm, SumsSquaresInTheOrderThatTheContractNames) {
  const auto x = normal_floats(1000, 2.0F);
  Context context(*best_target(), 1);
  std::vector<float> out(x.size());
  rms_norm(context, {.x = x.data(), .out = out.data(), .tokens = 1, .n = 1000}, {.eps = 1e-6F});
  const float factor = 1.0F / std::sqrt(reference::lanes_dot(x, x) / 1000.0F + 1e-6F);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], x[i] * factor) << i;
}

TEST(RmsNorm, NormalisesEachHeadOfStridedTokensInPlace) {
  constexpr int64_t kStride = 70;  // 3 heads of 20, and 10 floats that belong to something else
  auto x = normal_floats(4 * kStride);
  const auto before = x;
  const auto weight = normal_floats(20, 1.0F, 2);
  Context context(*best_target(), 2);
  rms_norm(context,
           {.x = x.data(),
            .out = x.data(),
            .tokens = 4,
            .groups = 3,
            .n = 20,
            .x_stride = kStride,
            .out_stride = kStride},
           {.weight = weight.data()});
  for (int64_t t = 0; t < 4; ++t) {
    const auto token = static_cast<size_t>(t * kStride);
    for (size_t head = 0; head < 3; ++head) {
      const auto expected =
          reference::rms_norm(std::span(before).subspan(token + head * 20, 20), weight, 1e-5F, 0.0);
      for (size_t i = 0; i < 20; ++i) EXPECT_NEAR(x[token + head * 20 + i], expected[i], 1e-5);
    }
    for (size_t i = 60; i < 70; ++i) EXPECT_EQ(x[token + i], before[token + i]) << "outside the heads";
  }
}

TEST(RmsNorm, OfZerosIsZero) {
  const std::vector<float> x(32, 0.0F);
  std::vector<float> out(32, 1.0F);
  Context context(*best_target(), 1);
  rms_norm(context, {.x = x.data(), .out = out.data(), .tokens = 1, .n = 32}, {});
  EXPECT_EQ(out, x);
}

TEST(LayerNorm, IsTheFormulaAndTheSameOnEveryTarget) {
  for (const int64_t n : kSizes) {
    SCOPED_TRACE(n);
    auto x = normal_floats(3 * n, 2.0F);
    for (float& v : x) v += 5.0F;
    const auto weight = normal_floats(n, 1.0F, 2);
    const auto bias = normal_floats(n, 1.0F, 3);
    const auto out = same_on_every_target([&](Context& context) {
      std::vector<float> result(x.size());
      layer_norm(context, {.x = x.data(), .out = result.data(), .tokens = 3, .n = n},
                 {.weight = weight.data(), .bias = bias.data(), .eps = 1e-5F});
      return result;
    });
    for (int64_t t = 0; t < 3; ++t) {
      const auto row = std::span(x).subspan(static_cast<size_t>(t * n), static_cast<size_t>(n));
      const auto expected = reference::layer_norm(row, weight, bias, 1e-5F);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(out[static_cast<size_t>(t * n) + i], expected[i], 1e-5);
    }
  }
}

}  // namespace
}  // namespace kvern::compute
