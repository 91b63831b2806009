// Formats: ggml-common.h (block_q8_0 and the others) and ggml-quants.c of ggml; docs/formats/weights.md.
#include "model/synth/quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "model/synth/quantize_k.h"

namespace kvern::model {
namespace {

using compute::DType;
using Block = std::span<const float, 32>;

constexpr size_t kBlock = 32;

void put_f16(std::byte* to, float value) {
  const uint16_t bits = f32_to_f16_bits(value);
  std::memcpy(to, &bits, sizeof bits);
}

float inverse(float d) { return d != 0.0F ? 1.0F / d : 0.0F; }

/// The element of largest magnitude, with its sign; the first of equals.
float extreme(Block x) {
  float best = 0.0F;
  for (const float v : x)
    if (std::fabs(v) > std::fabs(best)) best = v;
  return best;
}

void encode_q8_0(Block x, std::byte* to) {
  const float d = std::fabs(extreme(x)) / 127.0F;
  const float id = inverse(d);
  put_f16(to, d);
  // ggml rounds halves away from zero.
  for (size_t i = 0; i < kBlock; ++i)
    to[2 + i] = static_cast<std::byte>(static_cast<int8_t>(std::round(x[i] * id)));
}

// Codes of 32 elements: element i in the low and element i + 16 in the high half of byte i, fifth bits in a
// word.
void put_codes(const uint8_t (&codes)[kBlock], std::byte* nibbles, std::byte* fifth_bits) {
  uint32_t high = 0;
  for (size_t i = 0; i < 16; ++i) {
    nibbles[i] = static_cast<std::byte>((codes[i] & 15U) | (codes[i + 16] & 15U) << 4);
    high |= (codes[i] >> 4U & 1U) << i | (codes[i + 16] >> 4U & 1U) << (i + 16);
  }
  if (fifth_bits != nullptr) std::memcpy(fifth_bits, &high, sizeof high);
}

// Symmetric formats of 4 or 5 bits: the extreme element becomes the lowest code.
void encode_symmetric(Block x, int half, std::byte* to) {
  const float d = extreme(x) / static_cast<float>(-half);
  const float id = inverse(d);
  const float offset = static_cast<float>(half) + 0.5F;
  uint8_t codes[kBlock];
  for (size_t i = 0; i < kBlock; ++i)
    codes[i] = static_cast<uint8_t>(std::min(2 * half - 1, static_cast<int>(x[i] * id + offset)));
  put_f16(to, d);
  if (half == 8)
    put_codes(codes, to + 2, nullptr);
  else
    put_codes(codes, to + 6, to + 2);
}

// Formats with a minimum: codes count up from it.
void encode_with_minimum(Block x, int top, std::byte* to) {
  const auto [low, high] = std::ranges::minmax(x);
  const float d = (high - low) / static_cast<float>(top);
  const float id = inverse(d);
  uint8_t codes[kBlock];
  for (size_t i = 0; i < kBlock; ++i)
    codes[i] = static_cast<uint8_t>(std::min(top, static_cast<int>((x[i] - low) * id + 0.5F)));
  put_f16(to, d);
  put_f16(to + 2, low);
  if (top == 15)
    put_codes(codes, to + 4, nullptr);
  else
    put_codes(codes, to + 8, to + 4);
}

void encode_block(DType type, std::span<const float> x, std::byte* to) {
  switch (type) {
    case DType::kQ8_0:
      return encode_q8_0(x.first<kBlock>(), to);
    case DType::kQ4_0:
      return encode_symmetric(x.first<kBlock>(), 8, to);
    case DType::kQ5_0:
      return encode_symmetric(x.first<kBlock>(), 16, to);
    case DType::kQ4_1:
      return encode_with_minimum(x.first<kBlock>(), 15, to);
    case DType::kQ5_1:
      return encode_with_minimum(x.first<kBlock>(), 31, to);
    case DType::kQ4_K:
      return encode_q4_k(x.first<kSuperBlock>(), to);
    case DType::kQ5_K:
      return encode_q5_k(x.first<kSuperBlock>(), to);
    case DType::kQ6_K:
      return encode_q6_k(x.first<kSuperBlock>(), to);
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kAffine4:
    case DType::kAffine8:
      break;
  }
  KVERN_CHECK(!"a block format");
}

void encode_bf16(std::span<const float> from, std::byte* to) {
  for (size_t i = 0; i < from.size(); ++i) {
    const auto wide = std::bit_cast<uint32_t>(from[i]);
    const auto bits = static_cast<uint16_t>((wide + 0x7fffU + (wide >> 16 & 1U)) >> 16);
    std::memcpy(to + 2 * i, &bits, sizeof bits);
  }
}

}  // namespace

uint16_t f32_to_f16_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude >= 0x47800000U) {  // 65536 and above, infinity, NaN
    const uint32_t special = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
    return static_cast<uint16_t>(sign | special);
  }
  if (magnitude < 0x38800000U) {  // below the smallest normal number: let an addition in f32 round
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000U));
  }
  magnitude += 0xc8000fffU + (magnitude >> 13 & 1U);  // exponent bias from 127 to 15, half a unit less one
  return static_cast<uint16_t>(sign | magnitude >> 13);
}

void encode_row(DType type, std::span<const float> from, std::span<std::byte> to) {
  const compute::DTypeTraits& traits = compute::traits(type);
  const auto elements = static_cast<size_t>(traits.block_elements);
  KVERN_CHECK(from.size() % elements == 0);
  KVERN_CHECK(to.size() == compute::row_bytes(type, static_cast<int64_t>(from.size())));
  if (type == DType::kF32) {
    std::memcpy(to.data(), from.data(), to.size());
  } else if (type == DType::kBF16) {
    encode_bf16(from, to.data());
  } else if (type == DType::kF16) {
    for (size_t i = 0; i < from.size(); ++i) put_f16(to.data() + 2 * i, from[i]);
  } else {
    const auto bytes = static_cast<size_t>(traits.block_bytes);
    for (size_t i = 0; i < from.size() / elements; ++i)
      encode_block(type, from.subspan(i * elements, elements), to.data() + i * bytes);
  }
}

}  // namespace kvern::model
