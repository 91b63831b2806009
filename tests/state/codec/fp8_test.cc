#include "state/codec/fp8/fp8.h"

#include <limits>

#include "state/codec/stored_vectors.h"

namespace kvern::state {
namespace {

std::vector<uint8_t> encode(compute::CpuTarget target, const std::vector<float>& x) {
  const Stored stored(kFp8Codec, 1, static_cast<int64_t>(x.size()));
  const auto dim = static_cast<int64_t>(x.size());
  kFp8Codec.kernels(target).encode({x.data(), dim, {dim, 0}}, stored.run);
  const auto* bytes = reinterpret_cast<const uint8_t*>(stored.run.planes[0]);
  return {bytes, bytes + x.size()};
}
std::vector<float> decode(compute::CpuTarget target, const std::vector<uint8_t>& codes) {
  const auto dim = static_cast<int64_t>(codes.size());
  const auto whole = static_cast<size_t>(padded(dim));  // a record ends at whole lanes
  std::vector<uint8_t> copy = codes;
  copy.resize(whole);
  std::vector<float> out(whole);
  kFp8Codec.kernels(target).decode(
      {dim, 0}, {.planes = {reinterpret_cast<std::byte*>(copy.data())}, .count = 1}, out.data());
  out.resize(codes.size());
  return out;
}

TEST(Fp8Codec, KnowsEachOfTheCodes) {
  std::vector<uint8_t> codes(256);
  for (size_t i = 0; i < 256; ++i) codes[i] = static_cast<uint8_t>(i);
  for (const compute::CpuTarget target : test::supported_targets()) {
    const std::vector<float> numbers = decode(target, codes);
    EXPECT_EQ(numbers[0x00], 0.0F);
    EXPECT_EQ(numbers[0x01], 0x1p-9F);
    EXPECT_EQ(numbers[0x07], 7 * 0x1p-9F);
    EXPECT_EQ(numbers[0x08], 0x1p-6F);
    EXPECT_EQ(numbers[0x38], 1.0F);
    EXPECT_EQ(numbers[0x3c], 1.5F);
    EXPECT_EQ(numbers[0x7e], 448.0F);
    EXPECT_TRUE(std::isnan(numbers[0x7f]));
    EXPECT_TRUE(std::isnan(numbers[0xff]));
    EXPECT_TRUE(std::signbit(numbers[0x80]));
    for (size_t i = 1; i < 0x7f; ++i) {
      EXPECT_GT(numbers[i], numbers[i - 1]);
      EXPECT_EQ(numbers[i + 0x80], -numbers[i]);
    }
    std::vector<uint8_t> again = encode(target, numbers);
    again[0xff] |= 0x80;  // the sign of a NaN says nothing
    EXPECT_EQ(again, codes);
  }
}

TEST(Fp8Codec, RoundsToTheNearestAndTiesToEven) {
  std::vector<uint8_t> codes(0x7f);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i);
  for (const compute::CpuTarget target : test::supported_targets()) {
    const std::vector<float> numbers = decode(target, codes);
    std::vector<float> x;
    std::vector<uint8_t> want;
    for (size_t i = 0; i + 1 < numbers.size(); ++i) {
      const float middle = 0.5F * (numbers[i] + numbers[i + 1]);  // exact
      for (const float v : {std::nextafter(middle, 0.0F), middle, std::nextafter(middle, 1e9F)}) {
        const size_t nearest = v == middle ? i + i % 2 : v < middle ? i : i + 1;
        x.insert(x.end(), {v, -v});
        want.insert(want.end(), {static_cast<uint8_t>(nearest), static_cast<uint8_t>(nearest | 0x80)});
      }
    }
    EXPECT_EQ(encode(target, x), want);
  }
}

TEST(Fp8Codec, KeepsLargeNumbersFiniteAndNaNVisible) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const compute::CpuTarget target : test::supported_targets()) {
    const auto codes = encode(target, {449.0F, 464.0F, 1e30F, infinity, -infinity, 1e-30F, -1e-45F});
    EXPECT_EQ(codes, (std::vector<uint8_t>{0x7e, 0x7e, 0x7e, 0x7e, 0xfe, 0x00, 0x80}));
    const auto nan = encode(target, {std::numeric_limits<float>::quiet_NaN()});
    EXPECT_EQ(nan[0] & 0x7f, 0x7f);
  }
}

}  // namespace
}  // namespace kvern::state
