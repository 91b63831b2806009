#include "support/reference/codec_reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "support/reference/codec_tables.h"
#include "support/reference/half_reference.h"
#include "support/reference/lanes_reference.h"

namespace kvern::reference {
namespace {

using state::Codec;
using state::CodecKind;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kTurboEpsilon = 1e-8F;
/// The largest integer factor of weights of values with more than 4 bits; of others and of queries.
constexpr float kWide = 32639.0F;
constexpr float kNarrow = 127.0F;

using Group = ReadVector::Group;

// ---- formats of one number

const std::vector<float>& half_numbers() {
  static const std::vector<float> numbers = [] {
    std::vector<float> all(65536);
    for (uint32_t bits = 0; bits < 65536; ++bits) all[bits] = half_value(static_cast<uint16_t>(bits));
    return all;
  }();
  return numbers;
}

uint16_t bfloat_bits(float x) {
  if (std::isnan(x)) return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16 | 0x40U);
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(round_to(x, kBfloat)) >> 16);
}

/// Four significant bits, exponents from -6 on, no infinity; the all-ones code is NaN.
float fp8_number(uint8_t bits) {
  const float sign = (bits & 0x80) != 0 ? -1.0F : 1.0F;
  const int exponent = bits >> 3 & 15;
  const int fraction = bits & 7;
  if ((bits & 0x7f) == 0x7f) return kNan;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -9);
  return sign * std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
}

uint8_t fp8_bits(float x) {
  static const std::vector<float> numbers = [] {
    std::vector<float> all;
    for (uint8_t bits = 0; bits < 0x7f; ++bits) all.push_back(fp8_number(bits));
    return all;
  }();
  const uint8_t sign = std::signbit(x) ? 0x80 : 0;
  if (std::isnan(x)) return sign | 0x7f;
  const float rounded = std::min(round_to(std::abs(x), {4, -6, 1e30}), numbers.back());
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), rounded);
  return sign | static_cast<uint8_t>(at - numbers.begin());
}

// ---- bit streams

void put_code(std::vector<std::byte>& stream, int64_t index, int bits, uint32_t code) {
  for (int b = 0; b < bits; ++b) {
    const auto at = static_cast<size_t>(index * bits + b);
    if ((code >> b & 1U) != 0) stream[at / 8] |= static_cast<std::byte>(1U << at % 8);
  }
}

uint32_t get_code(const std::vector<std::byte>& stream, int64_t index, int bits) {
  const auto at = static_cast<size_t>(index * bits);
  const size_t byte = at / 8;
  uint32_t window = std::to_integer<uint32_t>(stream[byte]);
  if (byte + 1 < stream.size()) window |= std::to_integer<uint32_t>(stream[byte + 1]) << 8;
  return window >> at % 8 & ((1U << bits) - 1);
}

void put_half(std::vector<std::byte>& plane, int64_t index, float x) {
  const uint16_t bits = half_bits(x);
  std::memcpy(plane.data() + 2 * index, &bits, 2);
}

float get_half(const std::vector<std::byte>& plane, int64_t index) {
  uint16_t bits;
  std::memcpy(&bits, plane.data() + 2 * index, 2);
  return half_number(bits);
}

bool all_finite(std::span<const float> x) {
  return std::all_of(x.begin(), x.end(), [](float v) { return std::isfinite(v); });
}

// ---- affine

struct EncodedGroup {
  float first = kNan;   // what plane 1 holds
  float second = kNan;  // what plane 2 holds
  std::vector<uint32_t> codes;
};

EncodedGroup affine_group(std::span<const float> x, int bits) {
  EncodedGroup out;
  out.codes.assign(x.size(), 0);
  if (!all_finite(x)) return out;
  const auto n = static_cast<float>((1 << bits) - 1);
  const float lo = *std::min_element(x.begin(), x.end());
  const float hi = std::max(0.0F, *std::max_element(x.begin(), x.end()));
  float scale = std::max((hi - lo) / n, 1e-7F);
  const bool from_low = std::abs(lo) > std::abs(hi);
  const float edge = from_low ? lo : hi;
  if (!from_low) scale = -scale;
  const float steps = std::round(edge / scale);
  float bias = 0.0F;
  if (steps != 0.0F) {
    scale = edge / steps;
    bias = edge;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const float code = std::round((x[i] - bias) / scale);
    out.codes[i] = code > 0.0F ? static_cast<uint32_t>(std::min(code, n)) : 0;
  }
  out.first = scale;
  out.second = bias;
  return out;
}

// ---- TurboQuant

EncodedGroup turbo_key_group(std::span<const float> x, int bits) {
  EncodedGroup out;
  out.codes.assign(x.size(), 0);
  if (!all_finite(x)) return out;
  const float lo = *std::min_element(x.begin(), x.end());
  const float hi = *std::max_element(x.begin(), x.end());
  const bool with_sign = bits == 8;
  const float limit = with_sign ? 127.0F : static_cast<float>((1 << bits) - 1);
  const float scale = (hi - lo) / (with_sign ? 254.0F : limit);
  const float divisor = scale + kTurboEpsilon;
  const float zero = std::nearbyint(with_sign ? (hi + lo) / (2.0F * divisor) : lo / divisor);
  if (!(scale > 0x1p-25F) || !(std::abs(zero) < 65520.0F)) {
    out.first = 0.5F * lo + 0.5F * hi;
    out.second = 1.0F;
    return out;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const float index = std::nearbyint(x[i] / divisor - zero);
    const float low = with_sign ? -limit : 0.0F;
    const float kept = index > low ? std::min(index, limit) : low;
    out.codes[i] = static_cast<uint32_t>(static_cast<int32_t>(kept)) & 0xffU;
  }
  out.first = scale;
  out.second = zero;
  return out;
}

EncodedGroup turbo_value_group(std::span<const float> y, int bits) {
  EncodedGroup out;
  out.codes.assign(y.size(), 0);
  if (!all_finite(y)) return out;
  std::array<float, 16> squares{};
  for (size_t i = 0; i < y.size(); ++i) squares[i % 16] = std::fmaf(y[i], y[i], squares[i % 16]);
  out.first = std::sqrt(tree_sum(squares) * (1.0F / 32.0F));
  const LloydMax& table = lloyd_max(bits);
  for (size_t i = 0; i < y.size(); ++i) {
    const float u = y[i] / (out.first + kTurboEpsilon);
    for (const float boundary : table.boundaries) out.codes[i] += boundary < u ? 1 : 0;
  }
  return out;
}

EncodedGroup encode_group(const Codec& codec, std::span<const float> x) {
  if (codec.kind == CodecKind::kAffine) return affine_group(x, codec.bits);
  return codec.kind == CodecKind::kTurboKey ? turbo_key_group(x, codec.bits)
                                            : turbo_value_group(x, codec.bits);
}

// ---- grouped codecs

bool integer_arithmetic(const Codec& codec) {
  return codec.kind == CodecKind::kAffine || codec.kind == CodecKind::kTurboKey;
}

/// Offset that makes stored signed codes unsigned.
float code_offset(const Codec& codec) {
  return codec.kind == CodecKind::kTurboKey && codec.bits == 8 ? 128.0F : 0.0F;
}

Group stored_group(const Codec& codec, const StoredVector& stored, int64_t g) {
  const float first = get_half(stored.planes[1], g);
  const float second = get_half(stored.planes[2], g);
  if (codec.kind == CodecKind::kAffine) return {first, second};
  return {first, (second - code_offset(codec)) * first};
}

/// The unsigned codes of a vector of `dim` numbers.
void stored_codes(const Codec& codec, const StoredVector& stored, std::span<int32_t> out) {
  const uint32_t flip = code_offset(codec) != 0.0F ? 0x80 : 0;
  for (size_t d = 0; d < out.size(); ++d) {
    out[d] = static_cast<int32_t>(get_code(stored.planes[0], static_cast<int64_t>(d), codec.bits) ^ flip);
  }
}

/// Numbers as integers: number = step * integer.
struct Integers {
  float step = 0.0F;
  std::vector<int32_t> values;
};

Integers to_integers(std::span<const float> x, float limit) {
  Integers out;
  out.values.assign(x.size(), 0);
  if (!all_finite(x)) {
    out.step = kNan;
    return out;
  }
  float largest = 0.0F;
  for (const float v : x) largest = std::max(largest, std::abs(v));
  if (largest < 0x1p-100F) return out;
  const float factor = limit / largest;
  for (size_t i = 0; i < x.size(); ++i) out.values[i] = static_cast<int32_t>(std::nearbyint(x[i] * factor));
  out.step = largest / limit;
  return out;
}

float integer_score(const Codec& codec, const ReadQuery& q, const ReadVector& key) {
  float acc = 0.0F;
  const auto group = static_cast<size_t>(codec.group);
  for (size_t g = 0; g < q.groups.size(); ++g) {
    int32_t dot = 0;
    for (size_t d = g * group; d < (g + 1) * group; ++d) dot += q.integers[d] * key.codes[d];
    const auto& [step, total] = q.groups[g];
    acc = std::fmaf(key.groups[g].scale * step, static_cast<float>(dot), acc);
    acc = std::fmaf(key.groups[g].bias, step * static_cast<float>(total), acc);
  }
  return acc;
}

void integer_accumulate(const Codec& codec, std::span<const float> weights,
                        std::span<const ReadVector* const> values, std::span<float> sums) {
  const auto group = static_cast<size_t>(codec.group);
  std::vector<float> factors(values.size());
  std::vector<int32_t> totals(group);
  for (size_t g = 0; g < sums.size() / group; ++g) {
    std::array<float, 16> lanes{};
    for (size_t i = 0; i < values.size(); ++i) {
      const Group& value = values[i]->groups[g];
      factors[i] = weights[i] * value.scale;
      lanes[i % 16] = std::fmaf(weights[i], value.bias, lanes[i % 16]);
    }
    const Integers weight = to_integers(factors, codec.bits > 4 ? kWide : kNarrow);
    const float bias = tree_sum(lanes);
    std::fill(totals.begin(), totals.end(), 0);
    for (size_t i = 0; i < values.size(); ++i) {
      for (size_t d = 0; d < group; ++d) totals[d] += weight.values[i] * values[i]->codes[g * group + d];
    }
    for (size_t d = 0; d < group; ++d) {
      float& sum = sums[g * group + d];
      sum = std::fmaf(weight.step, static_cast<float>(totals[d]), sum + bias);
    }
  }
}

StoredVector encode_groups(const Codec& codec, std::span<const float> x) {
  StoredVector out;
  const auto group = static_cast<size_t>(codec.group);
  const size_t groups = x.size() / group;
  out.planes[0].resize(x.size() * static_cast<size_t>(codec.bits) / 8);
  for (int p = 1; p < codec.planes; ++p) out.planes[static_cast<size_t>(p)].resize(2 * groups);
  for (size_t g = 0; g < groups; ++g) {
    const EncodedGroup encoded = encode_group(codec, x.subspan(g * group, group));
    for (size_t d = 0; d < group; ++d) {
      put_code(out.planes[0], static_cast<int64_t>(g * group + d), codec.bits, encoded.codes[d]);
    }
    put_half(out.planes[1], static_cast<int64_t>(g), encoded.first);
    if (codec.planes > 2) put_half(out.planes[2], static_cast<int64_t>(g), encoded.second);
  }
  return out;
}

float decode_number(const Codec& codec, const StoredVector& stored, int64_t d) {
  const uint32_t code = get_code(stored.planes[0], d, codec.bits);
  const float first = get_half(stored.planes[1], d / codec.group);
  if (codec.kind == CodecKind::kTurboValue) return lloyd_max(codec.bits).centroids[code] * first;
  const float second = get_half(stored.planes[2], d / codec.group);
  if (codec.kind == CodecKind::kAffine) return std::fmaf(static_cast<float>(code), first, second);
  const auto index =
      code_offset(codec) != 0.0F ? static_cast<float>(static_cast<int8_t>(code)) : static_cast<float>(code);
  return (index + second) * first;
}

// ---- codecs without groups

template <typename Bits, typename F>
StoredVector encode_elements(std::span<const float> x, const F& bits_of) {
  StoredVector out;
  const auto padded = static_cast<size_t>(state::padded(static_cast<int64_t>(x.size())));
  out.planes[0].resize(padded * sizeof(Bits));
  for (size_t d = 0; d < x.size(); ++d) {
    const Bits bits = bits_of(x[d]);
    std::memcpy(out.planes[0].data() + d * sizeof(Bits), &bits, sizeof(Bits));
  }
  return out;
}

template <typename Bits>
Bits element(const StoredVector& stored, int64_t d) {
  Bits bits;
  std::memcpy(&bits, stored.planes[0].data() + static_cast<size_t>(d) * sizeof(Bits), sizeof(Bits));
  return bits;
}

float number(const Codec& codec, const StoredVector& stored, int64_t d) {
  switch (codec.kind) {
    case CodecKind::kF32:
      return element<float>(stored, d);
    case CodecKind::kF16:
      return half_number(element<uint16_t>(stored, d));
    case CodecKind::kBF16:
      return bfloat_value(element<uint16_t>(stored, d));
    case CodecKind::kFp8:
      return fp8_number(element<uint8_t>(stored, d));
    case CodecKind::kAffine:
    case CodecKind::kTurboKey:
    case CodecKind::kTurboValue:
      return decode_number(codec, stored, d);
  }
  return kNan;
}

void hadamard(std::span<float> x) {
  const size_t n = x.size() & -x.size();
  const auto factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(n)));
  for (size_t half = 1; half < n; half *= 2) {
    for (size_t i = 0; i < x.size(); ++i) {
      if ((i & half) != 0) continue;
      const float a = x[i];
      const float b = x[i + half];
      x[i] = a + b;
      x[i + half] = a - b;
    }
  }
  for (float& v : x) v *= factor;
}

void flip_signs(std::span<float> x) {
  const std::vector<float> signs = turbo_signs(static_cast<int64_t>(x.size()));
  for (size_t i = 0; i < x.size(); ++i) x[i] *= signs[i];
}

}  // namespace

uint16_t half_bits(float x) {
  if (std::isnan(x)) {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    return static_cast<uint16_t>((bits >> 16 & 0x8000U) | 0x7e00U | (bits >> 13 & 0x3ffU));
  }
  const float rounded = round_to(x, kHalf);
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const float magnitude = std::abs(rounded);
  if (std::isinf(magnitude)) return sign | 0x7c00;
  if (magnitude < 0x1p-14F) return sign | static_cast<uint16_t>(magnitude * 0x1p24F);
  const uint32_t bits = std::bit_cast<uint32_t>(magnitude);
  return sign | static_cast<uint16_t>((bits >> 13) - (112U << 10));
}

float half_number(uint16_t bits) { return half_numbers()[bits]; }

StoredVector encode(const Codec& codec, std::span<const float> x) {
  switch (codec.kind) {
    case CodecKind::kF32:
      return encode_elements<float>(x, [](float v) { return v; });
    case CodecKind::kF16:
      return encode_elements<uint16_t>(x, half_bits);
    case CodecKind::kBF16:
      return encode_elements<uint16_t>(x, bfloat_bits);
    case CodecKind::kFp8:
      return encode_elements<uint8_t>(x, fp8_bits);
    case CodecKind::kAffine:
    case CodecKind::kTurboKey:
    case CodecKind::kTurboValue:
      break;
  }
  return encode_groups(codec, x);
}

std::vector<float> decode(const Codec& codec, const StoredVector& stored, int64_t dim) {
  std::vector<float> out(static_cast<size_t>(dim));
  for (int64_t d = 0; d < dim; ++d) out[static_cast<size_t>(d)] = number(codec, stored, d);
  return out;
}

ReadVector read(const Codec& codec, const StoredVector& stored, int64_t dim) {
  ReadVector out;
  if (!integer_arithmetic(codec)) {
    out.numbers = decode(codec, stored, dim);
    return out;
  }
  out.codes.resize(static_cast<size_t>(dim));
  stored_codes(codec, stored, out.codes);
  for (int64_t g = 0; g < dim / codec.group; ++g) out.groups.push_back(stored_group(codec, stored, g));
  return out;
}

ReadQuery read_query(const Codec& codec, std::span<const float> q) {
  ReadQuery out;
  if (!integer_arithmetic(codec)) {
    out.numbers.assign(q.begin(), q.end());
    return out;
  }
  const auto group = static_cast<size_t>(codec.group);
  for (size_t g = 0; g < q.size() / group; ++g) {
    const Integers part = to_integers(q.subspan(g * group, group), kNarrow);
    out.integers.insert(out.integers.end(), part.values.begin(), part.values.end());
    out.groups.push_back({part.step, std::accumulate(part.values.begin(), part.values.end(), 0)});
  }
  return out;
}

float score(const Codec& codec, const ReadQuery& q, const ReadVector& key) {
  return integer_arithmetic(codec) ? integer_score(codec, q, key) : lanes_dot(q.numbers, key.numbers);
}

float score(const Codec& codec, std::span<const float> q, const StoredVector& stored) {
  return score(codec, read_query(codec, q), read(codec, stored, static_cast<int64_t>(q.size())));
}

void accumulate(const Codec& codec, std::span<const float> weights, std::span<const ReadVector* const> values,
                std::span<float> sums) {
  if (integer_arithmetic(codec)) return integer_accumulate(codec, weights, values, sums);
  for (size_t i = 0; i < values.size(); ++i) {
    const float* numbers = values[i]->numbers.data();
    for (size_t d = 0; d < sums.size(); ++d) sums[d] = std::fmaf(weights[i], numbers[d], sums[d]);
  }
}

void accumulate(const Codec& codec, std::span<const float> weights,
                std::span<const StoredVector* const> values, std::span<float> sums) {
  std::vector<ReadVector> vectors;
  std::vector<const ReadVector*> pointers;
  vectors.reserve(values.size());
  for (const StoredVector* stored : values) {
    vectors.push_back(read(codec, *stored, static_cast<int64_t>(sums.size())));
    pointers.push_back(&vectors.back());
  }
  accumulate(codec, weights, pointers, sums);
}

void rotate(state::Rotation rotation, std::span<float> x) {
  if (rotation == state::Rotation::kNone) return;
  if (rotation == state::Rotation::kSignedHadamard) flip_signs(x);
  hadamard(x);
}

void unrotate(state::Rotation rotation, std::span<float> x) {
  if (rotation == state::Rotation::kNone) return;
  hadamard(x);
  if (rotation == state::Rotation::kSignedHadamard) flip_signs(x);
}

std::vector<float> turbo_signs(int64_t dim) {
  // J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011): Threefry-2x32 with 20 rounds.
  constexpr std::array<uint32_t, 3> kKey = {0, 42, 0U ^ 42U ^ 0x1bd11bdaU};
  constexpr std::array<std::array<int, 4>, 2> kTurns = {{{13, 15, 26, 6}, {17, 29, 16, 24}}};
  std::vector<float> signs(static_cast<size_t>(dim));
  const size_t half = signs.size() / 2;
  for (size_t i = 0; i < half; ++i) {
    uint32_t a = static_cast<uint32_t>(i) + kKey[0];
    uint32_t b = static_cast<uint32_t>(i + half) + kKey[1];
    for (uint32_t round = 0; round < 5; ++round) {
      for (const int turn : kTurns[round % 2]) {
        a += b;
        b = std::rotl(b, turn) ^ a;
      }
      a += kKey[(round + 1) % 3];
      b += kKey[(round + 2) % 3] + round + 1;
    }
    signs[i] = a < 0x80000000U ? 1.0F : -1.0F;
    signs[i + half] = b < 0x80000000U ? 1.0F : -1.0F;
  }
  return signs;
}

}  // namespace kvern::reference
