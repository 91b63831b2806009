// Exact dot products of unsigned 8-bit codes with integer factors of 16 bits, sixteen at a time.
//
// A vector of codes holds in each of its 16 dwords four codes that belong to one sum (four dimensions of one
// key, or four positions of one dimension of the values). Four factors are common to all 16 sums.
//
// With 8-bit dot products (VNNI) a factor is high * 256 + low, two signed bytes, or the low byte alone where
// factors are narrow; elsewhere codes are widened to 16 bits and multiplied in pairs. Both are exact, so they
// agree.
#if defined(KVERN_STATE_CODEC_INTEGER_DOTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_INTEGER_DOTS_INL_H_
#undef KVERN_STATE_CODEC_INTEGER_DOTS_INL_H_
#else
#define KVERN_STATE_CODEC_INTEGER_DOTS_INL_H_
#endif

#include "hwy/highway.h"

#include <array>
#include <cstring>

#include "compute/kernels/lanes-inl.h"

// Highway's target string for processors with VNNI leaves that instruction set out.
#undef KVERN_BEFORE_INTEGER
#if HWY_TARGET == HWY_AVX3_DL
#define KVERN_BEFORE_INTEGER() HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni")
#else
#define KVERN_BEFORE_INTEGER() HWY_BEFORE_NAMESPACE()
#endif

KVERN_BEFORE_INTEGER();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace integer {
namespace hn = hwy::HWY_NAMESPACE;
namespace lanes = compute::HWY_NAMESPACE::lanes;
using lanes::F32x16;
using lanes::IntTag;
using IntVector = hn::Vec<IntTag>;
using ByteTag = hn::Repartition<uint8_t, IntTag>;
constexpr int kParts = static_cast<int>(lanes::kParts);
constexpr int kWidth = static_cast<int>(lanes::kWidth);
/// The largest factor: two bytes of 127, or one.
constexpr float kWideLimit = 32639.0F;
constexpr float kNarrowLimit = 127.0F;

struct I32x16 {
  IntVector part[kParts];
};

/// Two bytes for each of `count` factors. With VNNI all high bytes, then all low bytes; else int16.
constexpr int64_t factor_bytes(int64_t count) { return 2 * count; }

/// `count` factors from a multiple of 32 on.
struct FactorRow {
  const std::byte* first = nullptr;
  const std::byte* second = nullptr;
};

#if HWY_TARGET == HWY_AVX3_DL

constexpr int64_t kFactorStep = 4;  ///< bytes from four factors to the next

/// The factors from number `from` on, of `count` at p.
HWY_INLINE FactorRow factor_row(const std::byte* p, int64_t count, int64_t from) {
  return {p + from, p + count + from};
}

/// Sixteen integers as factors number `at`… of `count` at p.
HWY_INLINE void store_factors(const I32x16& x, std::byte* p, int64_t count, int64_t at) {
  const __m512i v = x.part[0].raw;
  const __m512i high = _mm512_srai_epi32(_mm512_add_epi32(v, _mm512_set1_epi32(128)), 8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + at), _mm512_cvtepi32_epi8(high));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + count + at), _mm512_cvtepi32_epi8(v));
}

using Codes = __m512i;
HWY_INLINE Codes expand(const I32x16& bytes) { return bytes.part[0].raw; }

struct Dot {
  __m512i high;
  __m512i low;
};
HWY_INLINE void clear(Dot& dot) { dot.high = dot.low = _mm512_setzero_si512(); }

HWY_INLINE __m512i broadcast_four(const std::byte* p) {
  int32_t four;
  std::memcpy(&four, p, 4);
  return _mm512_set1_epi32(four);
}

struct Factors {
  __m512i high;
  __m512i low;
};
/// Factors 4 * step to 4 * step + 3.
HWY_INLINE Factors load_factors(const FactorRow& row, int64_t step) {
  return {broadcast_four(row.first + kFactorStep * step), broadcast_four(row.second + kFactorStep * step)};
}
// As assembly, since g++-12 copies every accumulator of a loop twice around the intrinsic, which made the
// loops bound by the number of their instructions.
HWY_INLINE __m512i dot_bytes(__m512i sum, __m512i codes, __m512i factors) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(codes), "v"(factors));
  return sum;
}
HWY_INLINE __m512i dot_bytes(__m512i sum, __m512i codes, const std::byte* four) {
  using Four = int32_t __attribute__((may_alias, aligned(1)));
  asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(codes), "m"(*reinterpret_cast<const Four*>(four)));
  return sum;
}
HWY_INLINE void add_products(Dot& dot, const Codes& codes, const Factors& factors) {
  dot.high = dot_bytes(dot.high, codes, factors.high);
  dot.low = dot_bytes(dot.low, codes, factors.low);
}
HWY_INLINE I32x16 total(const Dot& dot) {
  return {{hn::Vec<IntTag>{_mm512_add_epi32(_mm512_slli_epi32(dot.high, 8), dot.low)}}};
}

/// With narrow factors.
struct NarrowDot {
  __m512i sum;
};
HWY_INLINE void clear(NarrowDot& dot) { dot.sum = _mm512_setzero_si512(); }
/// With factors 4 * step to 4 * step + 3, which serve these codes only.
HWY_INLINE void add_products(NarrowDot& dot, const Codes& codes, const FactorRow& row, int64_t step) {
  dot.sum = dot_bytes(dot.sum, codes, row.second + kFactorStep * step);
}
HWY_INLINE I32x16 total(const NarrowDot& dot) { return {{hn::Vec<IntTag>{dot.sum}}}; }

/// Factors for NarrowDot.
struct NarrowFactors {
  __m512i low;
};
HWY_INLINE void add_products(NarrowDot& dot, const Codes& codes, const NarrowFactors& factors) {
  dot.sum = dot_bytes(dot.sum, codes, factors.low);
}
HWY_INLINE NarrowFactors load_narrow_factors(const FactorRow& row, int64_t step) {
  return {broadcast_four(row.second + kFactorStep * step)};
}

/// 64 factors at p.
HWY_INLINE void store_tile_factors(const I32x16 (&x)[4], std::byte* p) {
  // Words come in blocks: four of the first operand, four of the second.
  const __m512i a = _mm512_packs_epi32(x[0].part[0].raw, x[1].part[0].raw);
  const __m512i b = _mm512_packs_epi32(x[2].part[0].raw, x[3].part[0].raw);
  static constexpr auto kLow = [] {
    std::array<uint8_t, 64> order{};
    for (size_t i = 0; i < 64; ++i) {
      const size_t word = i % 16 / 4 * 8 + i / 16 % 2 * 4 + i % 4;
      order[i] = static_cast<uint8_t>(2 * word + i / 32 * 64);
    }
    return order;
  }();
  const __m512i low = _mm512_loadu_si512(kLow.data());
  const __m512i high = _mm512_add_epi8(low, _mm512_set1_epi8(1));
  const __m512i half = _mm512_set1_epi16(128);
  _mm512_storeu_si512(p,
                      _mm512_permutex2var_epi8(_mm512_add_epi16(a, half), high, _mm512_add_epi16(b, half)));
  _mm512_storeu_si512(p + 64, _mm512_permutex2var_epi8(a, low, b));
}

#else

constexpr int64_t kFactorStep = 8;
using PairTag = hn::Repartition<int16_t, IntTag>;

HWY_INLINE FactorRow factor_row(const std::byte* p, int64_t /*count*/, int64_t from) {
  return {p + 2 * from, p + 2 * from + 4};
}

HWY_INLINE void store_factors(const I32x16& x, std::byte* p, int64_t /*count*/, int64_t at) {
  const hn::Rebind<int16_t, IntTag> narrow;
  auto* to = reinterpret_cast<int16_t*>(p) + at;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) hn::StoreU(hn::DemoteTo(narrow, x.part[i]), narrow, to + i * kWidth);
}

/// The lower and the upper two codes of each dword as 16-bit numbers.
struct Codes {
  I32x16 low;
  I32x16 high;
};
HWY_INLINE Codes expand(const I32x16& bytes) {
  const ByteTag d;
  alignas(16) static constexpr uint8_t kLow[16] = {0, 128, 1, 128, 4,  128, 5,  128,
                                                   8, 128, 9, 128, 12, 128, 13, 128};
  alignas(16) static constexpr uint8_t kHigh[16] = {2,  128, 3,  128, 6,  128, 7,  128,
                                                    10, 128, 11, 128, 14, 128, 15, 128};
  const auto low = hn::LoadDup128(d, kLow);
  const auto high = hn::LoadDup128(d, kHigh);
  Codes codes;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    const auto v = hn::BitCast(d, bytes.part[i]);
    codes.low.part[i] = hn::BitCast(IntTag(), hn::TableLookupBytesOr0(v, low));
    codes.high.part[i] = hn::BitCast(IntTag(), hn::TableLookupBytesOr0(v, high));
  }
  return codes;
}

struct Dot {
  I32x16 sum;
};
HWY_INLINE void clear(Dot& dot) {
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) dot.sum.part[i] = hn::Zero(IntTag());
}

/// Lane i: a[2i] * b[2i] + a[2i + 1] * b[2i + 1].
HWY_INLINE IntVector multiply_pairs(IntVector a, IntVector b) {
  const PairTag d;
#if HWY_TARGET == HWY_NEON
  const auto x = hn::BitCast(d, a);
  const auto y = hn::BitCast(d, b);
  const int32x4_t low = vmull_s16(vget_low_s16(x.raw), vget_low_s16(y.raw));
  const int32x4_t high = vmull_high_s16(x.raw, y.raw);
  return IntVector(vpaddq_s32(low, high));
#else
  auto unused = hn::Zero(IntTag());
  return hn::ReorderWidenMulAccumulate(IntTag(), hn::BitCast(d, a), hn::BitCast(d, b), hn::Zero(IntTag()),
                                       unused);
#endif
}

struct Factors {
  IntVector low;
  IntVector high;
};
HWY_INLINE IntVector broadcast_four(const std::byte* p) {
  int32_t two;
  std::memcpy(&two, p, 4);
  return hn::Set(IntTag(), two);
}
HWY_INLINE Factors load_factors(const FactorRow& row, int64_t step) {
  return {broadcast_four(row.first + kFactorStep * step), broadcast_four(row.second + kFactorStep * step)};
}
HWY_INLINE void add_products(Dot& dot, const Codes& codes, const Factors& factors) {
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    const auto low = multiply_pairs(codes.low.part[i], factors.low);
    const auto high = multiply_pairs(codes.high.part[i], factors.high);
    dot.sum.part[i] = hn::Add(dot.sum.part[i], hn::Add(low, high));
  }
}
HWY_INLINE void add_products(Dot& dot, const Codes& codes, const FactorRow& row, int64_t step) {
  add_products(dot, codes, load_factors(row, step));
}
HWY_INLINE I32x16 total(const Dot& dot) { return dot.sum; }
using NarrowDot = Dot;
HWY_INLINE Factors load_narrow_factors(const FactorRow& row, int64_t step) { return load_factors(row, step); }

HWY_INLINE void store_tile_factors(const I32x16 (&x)[4], std::byte* p) {
  for (int i = 0; i < 4; ++i) store_factors(x[i], p, 64, 16 * i);
}

#endif

HWY_INLINE F32x16 to_float(const I32x16& x) {
  F32x16 r;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) r.part[i] = hn::ConvertTo(lanes::Tag(), x.part[i]);
  return r;
}

/// What sets of numbers become as integers: number = step * factor. All numbers of a set share a step, chosen
/// for the largest magnitude; numbers that are all below 2^-100 become 0, and one that is not finite makes
/// the step a NaN, so that the factors do not matter.
template <int kSets>
struct FactorScales {
  float step[kSets];
  float factor[kSets];  ///< what numbers are multiplied with

  /// From the bits of the largest magnitudes; infinities and NaN are above all others.
  HWY_INLINE FactorScales(const int32_t* bits, float limit) {
    alignas(16) float magnitude[kSets];
    std::memcpy(magnitude, bits, sizeof(magnitude));
    for (int i = 0; i < kSets; ++i) {
      const bool vanishes = magnitude[i] < 0x1p-100F;
      const float multiple = limit / magnitude[i];
      const float quotient = magnitude[i] / limit;
      factor[i] = vanishes ? 0.0F : multiple;
      step[i] = bits[i] >= 0x7f800000 ? __builtin_nanf("") : vanishes ? 0.0F : quotient;
    }
  }
};

/// Magnitudes are ordered as their bits are.
HWY_INLINE IntVector max_magnitude(IntVector largest, const F32x16& x) {
#pragma GCC unroll 4
  for (int j = 0; j < kParts; ++j) {
    largest = hn::Max(largest, hn::BitCast(IntTag(), hn::Abs(x.part[j])));
  }
  return largest;
}

/// The factors of 16 numbers.
HWY_INLINE I32x16 to_factors(const F32x16& x, float factor) {
  I32x16 r;
#pragma GCC unroll 4
  for (int j = 0; j < kParts; ++j)
    r.part[j] = hn::NearestInt(hn::Mul(x.part[j], hn::Set(lanes::Tag(), factor)));
  return r;
}

}  // namespace integer
}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
