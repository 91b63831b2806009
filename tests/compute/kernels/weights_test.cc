// decode_row on blocks written by hand, so that every bit field of a format is seen in a value.
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "compute/kernels/matmul.h"
#include "compute/tensor/float16.h"

namespace kvern::compute {
namespace {

constexpr uint16_t kHalfOne = 0x3c00;      // 1.0
constexpr uint16_t kHalfTwo = 0x4000;      // 2.0
constexpr uint16_t kHalfQuarter = 0x3400;  // 0.25

class Block {
 public:
  explicit Block(DType type) : type_(type), bytes_(static_cast<size_t>(traits(type).block_bytes)) {}

  Block& half(size_t offset, uint16_t bits) {
    bytes_[offset] = static_cast<std::byte>(bits & 255);
    bytes_[offset + 1] = static_cast<std::byte>(bits >> 8);
    return *this;
  }
  Block& byte(size_t offset, int value) {
    bytes_[offset] = static_cast<std::byte>(value);
    return *this;
  }
  std::vector<float> decode() const {
    const int cols = traits(type_).block_elements;
    const WeightMatrix w{.type = type_,
                         .rows = 1,
                         .cols = cols,
                         .data = bytes_.data(),
                         .row_stride_bytes = bytes_.size(),
                         .affine = {}};
    std::vector<float> row(static_cast<size_t>(cols));
    decode_row(w, 0, row.data());
    return row;
  }

 private:
  DType type_;
  std::vector<std::byte> bytes_;
};

TEST(Weights, Q8_0HoldsSignedBytes) {
  const auto row = Block(DType::kQ8_0).half(0, kHalfTwo).byte(2, -128).byte(3, 127).byte(33, -1).decode();
  EXPECT_EQ(row[0], -256.0f);
  EXPECT_EQ(row[1], 254.0f);
  EXPECT_EQ(row[2], 0.0f);
  EXPECT_EQ(row[31], -2.0f);
}

TEST(Weights, Q4_0HoldsElementsSixteenApartInOneByteWithAnOffsetOfEight) {
  const auto row = Block(DType::kQ4_0).half(0, kHalfTwo).byte(2, 0xf1).byte(17, 0x80).decode();
  EXPECT_EQ(row[0], -14.0f);
  EXPECT_EQ(row[16], 14.0f);
  EXPECT_EQ(row[15], -16.0f);
  EXPECT_EQ(row[31], 0.0f);
}

TEST(Weights, Q4_1AddsAMin) {
  const auto row = Block(DType::kQ4_1).half(0, kHalfTwo).half(2, kHalfQuarter).byte(4, 0xf1).decode();
  EXPECT_EQ(row[0], 2.25f);
  EXPECT_EQ(row[16], 30.25f);
  EXPECT_EQ(row[1], 0.25f);
}

TEST(Weights, Q5_0TakesTheFifthBitFromAWord) {
  const auto row =
      Block(DType::kQ5_0).half(0, kHalfOne).byte(2, 0x01).byte(5, 0x80).byte(6, 0x21).byte(21, 0xf0).decode();
  EXPECT_EQ(row[0], 1.0f);     // 1 + 16 - 16
  EXPECT_EQ(row[16], -14.0f);  // 2 - 16
  EXPECT_EQ(row[31], 15.0f);   // 15 + 16 - 16
  EXPECT_EQ(row[1], -16.0f);
}

TEST(Weights, Q5_1TakesTheFifthBitFromAWordAndAddsAMin) {
  const auto row =
      Block(DType::kQ5_1).half(0, kHalfTwo).half(2, kHalfOne).byte(4, 0x02).byte(9, 0x03).decode();
  EXPECT_EQ(row[1], 39.0f);  // 2 * 19 + 1
  EXPECT_EQ(row[0], 1.0f);
}

TEST(Weights, Q4_KHasSixBitScalesAndMinsForEightUnits) {
  Block block(DType::kQ4_K);
  block.half(0, kHalfTwo).half(2, kHalfOne);
  block.byte(4, 63 | 2 << 6).byte(8, 5 | 1 << 6);  // unit 0: scale 63, min 5; tops of unit 4: 2 and 1
  block.byte(12, 0x9 | 0x3 << 4);                  // unit 4: scale 9 + 2 * 16 = 41, min 3 + 1 * 16 = 19
  block.byte(16, 0x0f).byte(16 + 64, 0x02);        // element 0 of unit 0: 15; element 0 of unit 4: 2
  const auto row = block.decode();
  EXPECT_EQ(row[0], 2.0f * 63 * 15 - 5);
  EXPECT_EQ(row[1], -5.0f);
  EXPECT_EQ(row[128], 2.0f * 41 * 2 - 19);
  EXPECT_EQ(row[32], 0.0f);
}

TEST(Weights, Q4_KOddUnitsLieInTheHighHalves) {
  Block block(DType::kQ4_K);
  block.half(0, kHalfOne).byte(5, 3).byte(16 + 7, 0xa0);
  EXPECT_EQ(block.decode()[32 + 7], 30.0f);
}

TEST(Weights, Q5_KTakesTheFifthBitOfUnitUFromBitUOfAByte) {
  Block block(DType::kQ5_K);
  block.half(0, kHalfOne).byte(5, 2).byte(16 + 9, 0x02).byte(48 + 9, 0x10);
  const auto row = block.decode();
  EXPECT_EQ(row[32 + 9], 2.0f * 17);
  EXPECT_EQ(row[32 + 8], 0.0f);
}

TEST(Weights, Q6_KHasASignedScaleForSixteenElementsAndTwoBitTops) {
  Block block(DType::kQ6_K);
  block.half(208, kHalfTwo);
  block.byte(192, -3).byte(193, 5).byte(192 + 7, 7);
  block.byte(0, 0x05).byte(128, 0x03);            // element 0: 5 + 48 - 32 = 21, scale -3
  block.byte(16, 0x01);                           // element 16: 1 - 32, scale 5
  block.byte(48 + 2, 0xc0).byte(128 + 18, 0x40);  // unit 3, element 18: 12 + 16 - 32 = -4, scale 7
  const auto row = block.decode();
  EXPECT_EQ(row[0], 2.0f * -3 * 21);
  EXPECT_EQ(row[16], 2.0f * 5 * -31);
  EXPECT_EQ(row[3 * 32 + 18], 2.0f * 7 * -4);
}

TEST(Weights, AffineRowsHaveAScaleAndABiasForEachGroup) {
  std::vector<std::byte> codes(32, std::byte{0});
  codes[0] = std::byte{0x52};
  codes[16] = std::byte{0x0f};
  const uint16_t scales[] = {kHalfTwo, kHalfOne};
  const uint16_t biases[] = {kHalfOne, kHalfQuarter};
  WeightMatrix w{.type = DType::kAffine4,
                 .rows = 1,
                 .cols = 64,
                 .data = codes.data(),
                 .row_stride_bytes = 32,
                 .affine = {}};
  w.affine = {.scales = reinterpret_cast<const std::byte*>(scales),
              .biases = reinterpret_cast<const std::byte*>(biases),
              .type = DType::kF16,
              .group_size = 32};
  float row[64];
  decode_row(w, 0, row);
  EXPECT_EQ(row[0], 5.0f);
  EXPECT_EQ(row[1], 11.0f);
  EXPECT_EQ(row[2], 1.0f);
  EXPECT_EQ(row[32], 15.25f);
  w.type = DType::kAffine8;
  w.cols = 32;
  decode_row(w, 0, row);
  EXPECT_EQ(row[0], 2.0f * 0x52 + 1.0f);
}

TEST(Float16, ConvertsEveryHalfToTheFloatOfItsValue) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const auto fraction = static_cast<double>(bits & 1023);
    const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
    const float value = f16_to_f32(half);
    if (exponent == 31) {
      EXPECT_TRUE(fraction != 0 ? std::isnan(value) : std::isinf(value)) << bits;
    } else {
      const double want =
          exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
      EXPECT_EQ(static_cast<double>(value), sign * want) << bits;
    }
    EXPECT_EQ(std::signbit(value), sign < 0) << bits;
  }
}

TEST(Float16, TakesABFloat16AsTheUpperHalfOfAFloat) {
  EXPECT_EQ(bf16_to_f32(0x3f80), 1.0f);
  EXPECT_EQ(bf16_to_f32(0xc040), -3.0f);
  EXPECT_TRUE(std::isnan(bf16_to_f32(0x7fc1)));
}

}  // namespace
}  // namespace kvern::compute
