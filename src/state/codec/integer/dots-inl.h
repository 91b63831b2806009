// Exact dot products of unsigned 8-bit codes with integer factors of 16 bits, sixteen at a time.
//
// A vector of codes holds in each of its 16 dwords four codes that belong to one sum (four dimensions of one
// key, or four positions of one dimension of the values). Four factors are common to all 16 sums.
//
// With 8-bit dot products (VNNI) a factor is high * 256 + low, two signed bytes; elsewhere codes are widened
// to 16 bits and multiplied in pairs. Both are exact, so they agree.
#if defined(KVERN_STATE_CODEC_INTEGER_DOTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_INTEGER_DOTS_INL_H_
#undef KVERN_STATE_CODEC_INTEGER_DOTS_INL_H_
#else
#define KVERN_STATE_CODEC_INTEGER_DOTS_INL_H_
#endif

#include "hwy/highway.h"

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
/// The largest factor: two bytes of 127.
constexpr float kFactorLimit = 32639.0F;

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
HWY_INLINE void add_products(Dot& dot, const Codes& codes, const Factors& factors) {
  dot.high = _mm512_dpbusd_epi32(dot.high, codes, factors.high);
  dot.low = _mm512_dpbusd_epi32(dot.low, codes, factors.low);
}
HWY_INLINE I32x16 total(const Dot& dot) {
  return {{hn::Vec<IntTag>{_mm512_add_epi32(_mm512_slli_epi32(dot.high, 8), dot.low)}}};
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
HWY_INLINE I32x16 total(const Dot& dot) { return dot.sum; }

#endif

HWY_INLINE F32x16 to_float(const I32x16& x) {
  F32x16 r;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) r.part[i] = hn::ConvertTo(lanes::Tag(), x.part[i]);
  return r;
}

/// What a set of numbers becomes as integers: number = step * factor.
struct FactorScale {
  float step = 0.0F;
  int32_t sum = 0;  ///< of the factors
};

/// `registers` * 16 numbers to factors number at… of `count` at p. All of them share a step, chosen for the
/// largest magnitude; numbers that are all below 2^-100 become 0, and one that is not finite makes the step a
/// NaN.
HWY_INLINE FactorScale to_factors(const F32x16* x, int64_t registers, std::byte* p, int64_t count,
                                  int64_t at) {
  const lanes::Tag df;
  const IntTag di;
  IntVector largest = hn::Zero(di);
  // Magnitudes are ordered as their bits are, infinities and NaN above all others.
  for (int64_t i = 0; i < registers; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kParts; ++j) largest = hn::Max(largest, hn::BitCast(di, hn::Abs(x[i].part[j])));
  }
  const int32_t bits = hn::GetLane(hn::MaxOfLanes(di, largest));
  const float magnitude = __builtin_bit_cast(float, bits);
  FactorScale scale;
  float factor = 0.0F;
  if (bits >= 0x7f800000) {
    scale.step = __builtin_nanf("");
  } else if (magnitude >= 0x1p-100F) {
    factor = kFactorLimit / magnitude;
    scale.step = magnitude / kFactorLimit;
  }
  const auto f = hn::Set(df, factor);
  const auto keep = hn::Set(di, bits >= 0x7f800000 ? 0 : -1);
  IntVector sum = hn::Zero(di);
  for (int64_t i = 0; i < registers; ++i) {
    I32x16 integers;
#pragma GCC unroll 4
    for (int j = 0; j < kParts; ++j) {
      integers.part[j] = hn::And(keep, hn::NearestInt(hn::Mul(x[i].part[j], f)));
      sum = hn::Add(sum, integers.part[j]);
    }
    store_factors(integers, p, count, at + 16 * i);
  }
  scale.sum = hn::GetLane(hn::SumOfLanes(di, sum));
  return scale;
}

}  // namespace integer
}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
