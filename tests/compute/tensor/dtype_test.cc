#include "compute/tensor/dtype.h"

#include <array>
#include <set>

#include <gtest/gtest.h>

#include "compute/tensor/weight.h"

namespace kvern::compute {
namespace {

TEST(DType, BytesOfARowFollowTheFormats) {
  EXPECT_EQ(row_bytes(DType::kF32, 100), 400U);
  EXPECT_EQ(row_bytes(DType::kF16, 100), 200U);
  EXPECT_EQ(row_bytes(DType::kBF16, 100), 200U);
  EXPECT_EQ(row_bytes(DType::kQ8_0, 64), 68U);
  EXPECT_EQ(row_bytes(DType::kQ4_0, 64), 36U);
  EXPECT_EQ(row_bytes(DType::kQ4_K, 512), 288U);
  EXPECT_EQ(row_bytes(DType::kQ6_K, 256), 210U);
  EXPECT_EQ(row_bytes(DType::kAffine4, 64), 32U);
  EXPECT_EQ(row_bytes(DType::kAffine8, 64), 64U);
}

TEST(DType, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (int i = 0; i < kDTypeCount; ++i) names.insert(traits(static_cast<DType>(i)).name);
  EXPECT_EQ(names.size(), static_cast<size_t>(kDTypeCount));
}

TEST(WeightMatrix, PartsOfRowsShareTheBytes) {
  std::array<std::byte, 10 * 36> data{};
  std::array<std::byte, 40> scales{};
  WeightMatrix matrix{
      .type = DType::kQ4_0, .rows = 10, .cols = 64, .data = data.data(), .row_stride_bytes = 36};
  const WeightMatrix part = rows_of(matrix, 3, 4);
  EXPECT_EQ(part.rows, 4);
  EXPECT_EQ(part.cols, 64);
  EXPECT_EQ(part.data, data.data() + 3 * 36);

  matrix = {.type = DType::kAffine4, .rows = 10, .cols = 64, .data = data.data(), .row_stride_bytes = 32};
  matrix.affine = {
      .scales = scales.data(), .biases = scales.data() + 20, .type = DType::kF16, .group_size = 64};
  const WeightMatrix affine = rows_of(matrix, 2, 1);
  EXPECT_EQ(affine.affine.scales, scales.data() + 4);
  EXPECT_EQ(affine.affine.biases, scales.data() + 24);
}

}  // namespace
}  // namespace kvern::compute
