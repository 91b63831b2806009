#include "compute/kernels/convert.h"

#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "support/every_target.h"
#include "support/reference/half_reference.h"

namespace kvern::compute {
namespace {

using test::same_on_every_target;

std::vector<uint16_t> all_bits() {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  return bits;
}

using Widen = void (*)(const Context&, std::span<const uint16_t>, std::span<float>);
using Narrow = void (*)(const Context&, std::span<const float>, std::span<uint16_t>);

std::vector<float> widen_all(Widen widen) {
  return same_on_every_target([&](Context& context) {
    std::vector<float> out(65536);
    widen(context, all_bits(), out);
    return out;
  });
}

std::vector<uint16_t> narrow(Narrow function, const std::vector<float>& x) {
  return same_on_every_target([&](Context& context) {
    std::vector<uint16_t> out(x.size());
    function(context, x, out);
    return out;
  });
}

// Every value of the format, and of each pair of neighbours the middle and what lies just beside it.
std::vector<float> hard_values(const std::vector<float>& format_values) {
  std::vector<float> x;
  for (const float v : format_values) {
    if (!std::isfinite(v)) continue;
    x.push_back(v);
    for (const int ulps : {1 << 12, 1 << 15}) {  // half a unit of f16 and of bf16
      const auto bits = std::bit_cast<uint32_t>(v) + static_cast<uint32_t>(ulps);
      for (const uint32_t near : {bits - 1, bits, bits + 1}) x.push_back(std::bit_cast<float>(near));
    }
  }
  return x;
}

void expect_equal(float a, float b, const char* what) {
  if (std::isnan(a) || std::isnan(b)) {
    ASSERT_EQ(std::isnan(a), std::isnan(b)) << what;
  } else {
    ASSERT_EQ(std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b)) << what << " " << a << " " << b;
  }
}

TEST(Convert, ReadsEveryPatternExactly) {
  const auto half = widen_all(f16_to_f32);
  const auto bfloat = widen_all(bf16_to_f32);
  for (size_t i = 0; i < 65536; ++i) {
    expect_equal(half[i], reference::half_value(static_cast<uint16_t>(i)), "f16");
    expect_equal(bfloat[i], reference::bfloat_value(static_cast<uint16_t>(i)), "bf16");
  }
}

TEST(Convert, RoundsToNearestEven) {
  const auto half_inputs = hard_values(widen_all(f16_to_f32));
  const auto half = narrow(f32_to_f16, half_inputs);
  for (size_t i = 0; i < half.size(); ++i) {
    expect_equal(reference::half_value(half[i]), reference::round_to(half_inputs[i], reference::kHalf),
                 "f16");
  }
  const auto bfloat_inputs = hard_values(widen_all(bf16_to_f32));
  const auto bfloat = narrow(f32_to_bf16, bfloat_inputs);
  for (size_t i = 0; i < bfloat.size(); ++i) {
    expect_equal(reference::bfloat_value(bfloat[i]),
                 reference::round_to(bfloat_inputs[i], reference::kBfloat), "bf16");
  }
}

TEST(Convert, KeepsNanQuietAndItsUpperBits) {
  std::vector<float> nans;
  for (const uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xffc00000u, 0x7f812345u, 0xff800001u}) {
    nans.push_back(std::bit_cast<float>(bits));
  }
  const auto half = narrow(f32_to_f16, nans);
  const auto bfloat = narrow(f32_to_bf16, nans);
  for (size_t i = 0; i < nans.size(); ++i) {
    const auto bits = std::bit_cast<uint32_t>(nans[i]);
    EXPECT_EQ(bfloat[i], (bits >> 16) | 0x40) << i;
    EXPECT_EQ(half[i], (bits >> 16 & 0x8000) | 0x7e00 | (bits >> 13 & 0x3ff)) << i;
  }
}

}  // namespace
}  // namespace kvern::compute
