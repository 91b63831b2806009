// Codes of several records brought together for dots-inl.h: sixteen keys side by side, or four values.
#if defined(KVERN_STATE_CODEC_INTEGER_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_INTEGER_BLOCKS_INL_H_
#undef KVERN_STATE_CODEC_INTEGER_BLOCKS_INL_H_
#else
#define KVERN_STATE_CODEC_INTEGER_BLOCKS_INL_H_
#endif

#include "hwy/highway.h"

#include "state/codec/integer/dots-inl.h"

KVERN_BEFORE_INTEGER();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace integer {

/// The codes of consecutive vectors.
struct Records {
  const std::byte* first;
  int64_t stride;

  HWY_INLINE const std::byte* operator[](int64_t i) const { return first + i * stride; }
  HWY_INLINE Records from(int64_t i) const { return {first + i * stride, stride}; }
};
/// Codes are handled 32 numbers at a time, a divisor of every group.
constexpr int64_t kUnit = 32;

HWY_INLINE hn::Vec<hn::Full128<uint8_t>> load_16(const std::byte* p) {
  return hn::LoadU(hn::Full128<uint8_t>(), reinterpret_cast<const uint8_t*>(p));
}

// 16 bytes from byte `at` of records[0], records[kStride], records[2 kStride], …, one 128-bit block each.
template <int kStride>
HWY_INLINE IntVector load_blocks(const Records& records, int64_t at) {
#if HWY_TARGET <= HWY_AVX3
  // Loads under masks, which leave the shuffle ports to the transpositions.
  __m512i v = _mm512_castsi128_si512(load_16(records[0] + at).raw);
  v = _mm512_mask_broadcast_i32x4(v, 0x00f0, load_16(records[kStride] + at).raw);
  v = _mm512_mask_broadcast_i32x4(v, 0x0f00, load_16(records[2 * kStride] + at).raw);
  return IntVector{_mm512_mask_broadcast_i32x4(v, 0xf000, load_16(records[3 * kStride] + at).raw)};
#elif HWY_TARGET == HWY_AVX2
  const __m256i v = _mm256_castsi128_si256(load_16(records[0] + at).raw);
  return IntVector{_mm256_inserti128_si256(v, load_16(records[kStride] + at).raw, 1)};
#else
  return hn::BitCast(IntTag(), load_16(records[0] + at));
#endif
}

/// Four rows of 16 keys: row j has bytes at + 4j to at + 4j + 3 of each key's record.
HWY_INLINE void load_key_dwords(const Records& records, int64_t at, I32x16* rows) {
  const hn::Repartition<uint64_t, IntTag> wide;
  const IntTag d;
#pragma GCC unroll 4
  for (int part = 0; part < kParts; ++part) {
    const Records first = records.from(part * kWidth);
    const IntVector a = load_blocks<4>(first, at);
    const IntVector b = load_blocks<4>(first.from(1), at);
    const IntVector c = load_blocks<4>(first.from(2), at);
    const IntVector e = load_blocks<4>(first.from(3), at);
    const auto ab_low = hn::BitCast(wide, hn::InterleaveLower(d, a, b));
    const auto ab_high = hn::BitCast(wide, hn::InterleaveUpper(d, a, b));
    const auto ce_low = hn::BitCast(wide, hn::InterleaveLower(d, c, e));
    const auto ce_high = hn::BitCast(wide, hn::InterleaveUpper(d, c, e));
    rows[0].part[part] = hn::BitCast(d, hn::InterleaveLower(wide, ab_low, ce_low));
    rows[1].part[part] = hn::BitCast(d, hn::InterleaveUpper(wide, ab_low, ce_low));
    rows[2].part[part] = hn::BitCast(d, hn::InterleaveLower(wide, ab_high, ce_high));
    rows[3].part[part] = hn::BitCast(d, hn::InterleaveUpper(wide, ab_high, ce_high));
  }
}

/// Dword i of the result has byte at + i of four consecutive records.
HWY_INLINE I32x16 load_value_bytes(const Records& records, int64_t at) {
#if HWY_TARGET <= HWY_AVX3
  // The records lie in the four blocks: a transposition of 4 x 16 bytes.
  const __m512i v = load_blocks<1>(records, at).raw;
#if HWY_TARGET <= HWY_AVX3_DL
  const __m512i order =
      _mm512_set_epi8(63, 47, 31, 15, 62, 46, 30, 14, 61, 45, 29, 13, 60, 44, 28, 12, 59, 43, 27, 11, 58, 42,
                      26, 10, 57, 41, 25, 9, 56, 40, 24, 8, 55, 39, 23, 7, 54, 38, 22, 6, 53, 37, 21, 5, 52,
                      36, 20, 4, 51, 35, 19, 3, 50, 34, 18, 2, 49, 33, 17, 1, 48, 32, 16, 0);
  return {{IntVector{_mm512_permutexvar_epi8(order, v)}}};
#else
  const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  const __m512i in_block =
      _mm512_broadcast_i32x4(_mm_set_epi8(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0));
  return {{IntVector{_mm512_shuffle_epi8(_mm512_permutexvar_epi32(order, v), in_block)}}};
#endif
#else
  const hn::Full128<uint8_t> d8;
  const hn::Full128<uint16_t> d16;
  const hn::Full128<int32_t> d32;
  const auto a = load_16(records[0] + at);
  const auto b = load_16(records[1] + at);
  const auto c = load_16(records[2] + at);
  const auto e = load_16(records[3] + at);
  const auto ab_low = hn::BitCast(d16, hn::InterleaveLower(d8, a, b));
  const auto ab_high = hn::BitCast(d16, hn::InterleaveUpper(d8, a, b));
  const auto ce_low = hn::BitCast(d16, hn::InterleaveLower(d8, c, e));
  const auto ce_high = hn::BitCast(d16, hn::InterleaveUpper(d8, c, e));
  const auto r0 = hn::BitCast(d32, hn::InterleaveLower(d16, ab_low, ce_low));
  const auto r1 = hn::BitCast(d32, hn::InterleaveUpper(d16, ab_low, ce_low));
  const auto r2 = hn::BitCast(d32, hn::InterleaveLower(d16, ab_high, ce_high));
  const auto r3 = hn::BitCast(d32, hn::InterleaveUpper(d16, ab_high, ce_high));
#if HWY_TARGET == HWY_AVX2
  return {{hn::Combine(IntTag(), r1, r0), hn::Combine(IntTag(), r3, r2)}};
#else
  return {{r0, r1, r2, r3}};
#endif
#endif
}

HWY_INLINE I32x16 low_nibbles(const I32x16& v) {
  I32x16 r;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) r.part[i] = hn::And(v.part[i], hn::Set(IntTag(), 0x0f0f0f0f));
  return r;
}
HWY_INLINE I32x16 high_nibbles(const I32x16& v) {
  I32x16 r;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    r.part[i] = hn::And(hn::ShiftRight<4>(v.part[i]), hn::Set(IntTag(), 0x0f0f0f0f));
  }
  return r;
}
HWY_INLINE I32x16 flip_bytes(const I32x16& v, uint32_t mask) {
  I32x16 r;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i)
    r.part[i] = hn::Xor(v.part[i], hn::Set(IntTag(), static_cast<int32_t>(mask)));
  return r;
}

}  // namespace integer
}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
