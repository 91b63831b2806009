#include "model/synth/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "compute/kernels/matmul.h"
#include "compute/tensor/float16.h"
#include "model/synth/random_numbers.h"

namespace kvern::model {
namespace {

using compute::DType;

std::vector<float> decoded(DType type, const std::vector<float>& values) {
  std::vector<std::byte> bytes(compute::row_bytes(type, static_cast<int64_t>(values.size())));
  encode_row(type, values, bytes);
  std::vector<float> out(values.size());
  compute::decode_row({.type = type,
                       .rows = 1,
                       .cols = static_cast<int64_t>(values.size()),
                       .data = bytes.data(),
                       .row_stride_bytes = bytes.size(),
                       .affine = {}},
                      0, out.data());
  return out;
}

TEST(Quantize, every_f16_number_survives_and_others_round_to_the_nearest) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = compute::f16_to_f32(half);
    if (std::isnan(value)) continue;
    EXPECT_EQ(f32_to_f16_bits(value), half);
    if ((half & 0x7fff) >= 0x7bff) continue;
    // Between two neighbours: the nearer one; in the middle: the even one.
    const float next = compute::f16_to_f32(static_cast<uint16_t>(half + 1));
    const float middle = (value + next) / 2.0F;
    EXPECT_EQ(f32_to_f16_bits(middle), (half & 1) == 0 ? half : half + 1);
    EXPECT_EQ(f32_to_f16_bits(std::nextafter(middle, value)), half);
    EXPECT_EQ(f32_to_f16_bits(std::nextafter(middle, next)), half + 1);
  }
  EXPECT_EQ(f32_to_f16_bits(65519.0F), 0x7bff);
  EXPECT_EQ(f32_to_f16_bits(65520.0F), 0x7c00);
  EXPECT_EQ(f32_to_f16_bits(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_TRUE(std::isnan(compute::f16_to_f32(f32_to_f16_bits(std::numeric_limits<float>::quiet_NaN()))));
}

// Largest error as a share of the largest magnitude in the row: half a step of each format and what its
// scales lose.
TEST(Quantize, errors_stay_below_what_the_format_can_do) {
  const std::pair<DType, float> kBounds[] = {
      {DType::kF32, 0.0F},    {DType::kF16, 0x1p-11F}, {DType::kBF16, 0x1p-8F}, {DType::kQ8_0, 0.005F},
      {DType::kQ4_0, 0.13F},  {DType::kQ4_1, 0.07F},   {DType::kQ5_0, 0.065F},  {DType::kQ5_1, 0.035F},
      {DType::kQ4_K, 0.085F}, {DType::kQ5_K, 0.055F},  {DType::kQ6_K, 0.035F},
  };
  std::vector<float> values(2048);
  fill_random({.seed = 5, .tensor = 1}, 0, {0.0F, 0.02F}, values);
  const float largest =
      std::fabs(*std::ranges::max_element(values, {}, [](float v) { return std::fabs(v); }));
  for (const auto& [type, bound] : kBounds) {
    const std::vector<float> back = decoded(type, values);
    float worst = 0.0F;
    for (size_t i = 0; i < values.size(); ++i) worst = std::max(worst, std::fabs(values[i] - back[i]));
    EXPECT_LE(worst, bound * largest) << compute::traits(type).name;
  }
}

TEST(Quantize, zeros_and_constant_rows_stay_finite) {
  for (const DType type : {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ4_K,
                           DType::kQ5_K, DType::kQ6_K}) {
    for (const float value : {0.0F, 1.0F, -1.0F}) {
      for (const float back : decoded(type, std::vector<float>(256, value)))
        EXPECT_NEAR(back, value, 0.02F) << compute::traits(type).name;
    }
  }
}

}  // namespace
}  // namespace kvern::model
