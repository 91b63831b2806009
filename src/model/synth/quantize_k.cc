#include "model/synth/quantize_k.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "compute/tensor/float16.h"
#include "model/synth/quantize.h"

namespace kvern::model {
namespace {

using SuperBlock = std::span<const float, kSuperBlock>;

// Q4_K and Q5_K: eight sub-blocks of 32 with a 6-bit scale and a 6-bit minimum each.
constexpr size_t kParts = 8;
constexpr size_t kPart = 32;
// Q6_K: sixteen sub-blocks of 16 with an 8-bit scale each.
constexpr size_t kFineParts = 16;
constexpr size_t kFinePart = 16;

/// Stores a number as f16 and returns what a reader will see.
float put_f16(std::byte* to, float value) {
  const uint16_t bits = f32_to_f16_bits(value);
  std::memcpy(to, &bits, sizeof bits);
  return compute::f16_to_f32(bits);
}

float inverse(float d) { return d != 0.0F ? 1.0F / d : 0.0F; }

int rounded(float value, int low, int high) {
  return std::clamp(static_cast<int>(std::lrintf(value)), low, high);
}

/// What Q4_K and Q5_K share: w = d * scale * code - dmin * minimum.
struct Encoded {
  uint8_t scales[kParts];
  uint8_t minima[kParts];
  uint8_t codes[kSuperBlock];
};

// Writes d and dmin to `to`.
Encoded encode_parts(SuperBlock x, int top, std::byte* to) {
  float steps[kParts];
  float depths[kParts];  // how far the sub-block reaches below zero
  for (size_t p = 0; p < kParts; ++p) {
    const auto [low, high] = std::ranges::minmax(x.subspan(p * kPart, kPart));
    depths[p] = std::max(0.0F, -low);
    steps[p] = (std::max(high, 0.0F) + depths[p]) / static_cast<float>(top);
  }
  const float d = put_f16(to, *std::ranges::max_element(steps) / 63.0F);
  const float dmin = put_f16(to + 2, *std::ranges::max_element(depths) / 63.0F);
  Encoded out;
  for (size_t p = 0; p < kParts; ++p) {
    out.scales[p] = static_cast<uint8_t>(rounded(steps[p] * inverse(d), 0, 63));
    out.minima[p] = static_cast<uint8_t>(rounded(depths[p] * inverse(dmin), 0, 63));
    const float step = inverse(d * static_cast<float>(out.scales[p]));
    const float depth = dmin * static_cast<float>(out.minima[p]);
    for (size_t i = p * kPart; i < (p + 1) * kPart; ++i)
      out.codes[i] = static_cast<uint8_t>(rounded((x[i] + depth) * step, 0, top));
  }
  return out;
}

// 16 numbers of 6 bits in 12 bytes: the first four of each kind whole, the upper two bits of the others above
// them.
void put_scales(const Encoded& e, std::byte* to) {
  for (size_t p = 0; p < 4; ++p) {
    to[p] = static_cast<std::byte>(e.scales[p] | (e.scales[p + 4] >> 4U) << 6);
    to[p + 4] = static_cast<std::byte>(e.minima[p] | (e.minima[p + 4] >> 4U) << 6);
    to[p + 8] = static_cast<std::byte>((e.scales[p + 4] & 15U) | (e.minima[p + 4] & 15U) << 4);
  }
}

// Low nibbles: 32 bytes for each pair of sub-blocks, the first one in the lower halves.
void put_nibbles(const Encoded& e, std::byte* to) {
  for (size_t pair = 0; pair < kParts / 2; ++pair)
    for (size_t i = 0; i < kPart; ++i) {
      const size_t at = pair * 2 * kPart + i;
      to[pair * kPart + i] = static_cast<std::byte>((e.codes[at] & 15U) | (e.codes[at + kPart] & 15U) << 4);
    }
}

}  // namespace

void encode_q4_k(SuperBlock x, std::byte* to) {
  const Encoded e = encode_parts(x, 15, to);
  put_scales(e, to + 4);
  put_nibbles(e, to + 16);
}

void encode_q5_k(SuperBlock x, std::byte* to) {
  const Encoded e = encode_parts(x, 31, to);
  put_scales(e, to + 4);
  // Bit p of byte i is the fifth bit of element i of sub-block p.
  for (size_t i = 0; i < kPart; ++i) {
    unsigned bits = 0;
    for (size_t p = 0; p < kParts; ++p) bits |= (e.codes[p * kPart + i] >> 4U & 1U) << p;
    to[16 + i] = static_cast<std::byte>(bits);
  }
  put_nibbles(e, to + 16 + kPart);
}

void encode_q6_k(SuperBlock x, std::byte* to) {
  float steps[kFineParts];
  float largest = 0.0F;
  for (size_t p = 0; p < kFineParts; ++p) {
    const auto part = x.subspan(p * kFinePart, kFinePart);
    const float extreme = *std::ranges::max_element(part, {}, [](float v) { return std::fabs(v); });
    steps[p] = extreme / -32.0F;
    if (std::fabs(steps[p]) > std::fabs(largest)) largest = steps[p];
  }
  const float d = put_f16(to + 208, largest / -128.0F);
  uint8_t codes[kSuperBlock];
  for (size_t p = 0; p < kFineParts; ++p) {
    const int scale = rounded(steps[p] * inverse(d), -128, 127);
    to[192 + p] = static_cast<std::byte>(static_cast<int8_t>(scale));
    const float step = inverse(d * static_cast<float>(scale));
    for (size_t i = p * kFinePart; i < (p + 1) * kFinePart; ++i)
      codes[i] = static_cast<uint8_t>(rounded(x[i] * step, -32, 31) + 32);
  }
  // Each half of 128: four quarters a, b, c, d of 32; nibbles (a, c) and (b, d) share bytes, upper bits share
  // one.
  for (size_t half = 0; half < 2; ++half)
    for (size_t i = 0; i < 32; ++i) {
      const uint8_t* q = codes + half * 128 + i;
      to[half * 64 + i] = static_cast<std::byte>((q[0] & 15U) | (q[64] & 15U) << 4);
      to[half * 64 + 32 + i] = static_cast<std::byte>((q[32] & 15U) | (q[96] & 15U) << 4);
      to[128 + half * 32 + i] =
          static_cast<std::byte>(q[0] >> 4U | (q[32] >> 4U) << 2 | (q[64] >> 4U) << 4 | (q[96] >> 4U) << 6);
    }
}

}  // namespace kvern::model
