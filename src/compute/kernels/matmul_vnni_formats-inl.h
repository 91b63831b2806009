// How sixteen blocks of each block-quantized format are read with AVX-512: their codes, four blocks at a
// time, and their scales and mins, one block in each lane. The sixteen are blocks of sixteen rows, or four
// blocks of each of four rows. Both the products with one token and the packing for many tokens are written
// on top of these two functions. Bit layouts: weights/*.h, which define the same in scalar form.
//
// Each format has
//   kBlockUnits, kBlockBytes   units and bytes of a block
//   kStepUnits                 units that codes() reads at once (a divisor of kBlockUnits)
//   kRawShift[i]               how far the codes of unit i of a step are shifted left when read raw
//   codes<raw>(p, far, step, out)      four blocks at p, p + far, p + 2 far, p + 3 far: out[i] gets the codes
//   of
//                              unit i of the step, the l-th block in the l-th 128 bits
//   half_codes(p, far, step, half, out)   the same of half the columns, in formats with two scales for a unit
//   State, load(blocks, state)         what is read once for sixteen blocks; scales(state, unit of the block)
//   takes it apart
#if defined(KVERN_COMPUTE_KERNELS_MATMUL_VNNI_FORMATS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_COMPUTE_KERNELS_MATMUL_VNNI_FORMATS_INL_H_
#undef KVERN_COMPUTE_KERNELS_MATMUL_VNNI_FORMATS_INL_H_
#else
#define KVERN_COMPUTE_KERNELS_MATMUL_VNNI_FORMATS_INL_H_
#endif

#include "hwy/highway.h"

#include <cstddef>
#include <cstdint>

#include "compute/kernels/matmul_rows.h"
#include "compute/kernels/weights/formats.h"

#if HWY_TARGET == HWY_AVX3_DL
#include <immintrin.h>

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace matmul_detail {

using internal::RowGroup;

/// Sixteen blocks: number 4 l + j, which has lane 4 l + j, lies at p + j * near + l * far.
struct Blocks {
  const uint8_t* p;
  size_t near;
  size_t far;
};

/// The blocks of sixteen rows, `p` being that of the first.
HWY_INLINE Blocks blocks_of_rows(const RowGroup& rows, const uint8_t* p) {
  return {p, rows.stride, 4 * rows.stride};
}

/// Codes of one unit: columns 0..15 and 16..31 of four blocks.
struct UnitCodes {
  __m512i low;
  __m512i high;
};

/// Scales of a unit of 16 blocks (two where the format has them for 16 columns), and mins.
struct UnitScales {
  __m512 scale[2];
  __m512 min;
};

HWY_INLINE __m512i low_nibbles(__m512i v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
HWY_INLINE __m512i high_nibbles(__m512i v) {
  return _mm512_and_si512(_mm512_srli_epi16(v, 4), _mm512_set1_epi8(15));
}

/// 16 bytes of each of four blocks.
HWY_INLINE __m512i load_4_blocks(const uint8_t* p, size_t far) {
  const auto at = [&](size_t i) HWY_ATTR { return reinterpret_cast<const __m128i*>(p + i * far); };
  const __m256i a =
      _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(at(0))), _mm_loadu_si128(at(1)), 1);
  const __m256i b =
      _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(at(2))), _mm_loadu_si128(at(3)), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

/// 32 bytes of each of two blocks.
HWY_INLINE __m512i load_2_blocks(const uint8_t* p, size_t far) {
  const auto at = [&](size_t i)
                      HWY_ATTR { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i * far)); };
  return _mm512_inserti64x4(_mm512_castsi256_si512(at(0)), at(1), 1);
}

// Small pieces of blocks are joined in general registers: the vector units are the bottleneck here.

/// The 16 bits at `offset` of each of 16 blocks.
HWY_INLINE __m256i load_16_words(const Blocks& blocks, size_t offset) {
  const auto four = [&](size_t i) HWY_ATTR {
    const uint8_t* q = blocks.p + offset + i * blocks.far;
    const auto word = [&](size_t j)
                          HWY_ATTR { return static_cast<uint64_t>(weights::load_u16(q + j * blocks.near)); };
    const uint64_t low = word(0) | word(1) << 16;
    const uint64_t high = word(2) | word(3) << 16;
    return _mm_cvtsi64_si128(static_cast<int64_t>(low | high << 32));
  };
  const __m128i low = _mm_unpacklo_epi64(four(0), four(1));
  const __m128i high = _mm_unpacklo_epi64(four(2), four(3));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/// The 32 bits at the beginning of each of 16 blocks.
HWY_INLINE __m512i load_16_dwords(const Blocks& blocks) {
  const auto four = [&](size_t i) HWY_ATTR {
    const uint8_t* q = blocks.p + i * blocks.far;
    const auto two = [&](size_t j) HWY_ATTR {
      const uint64_t low = weights::load_u32(q + j * blocks.near);
      const uint64_t high = weights::load_u32(q + (j + 1) * blocks.near);
      return _mm_cvtsi64_si128(static_cast<int64_t>(low | high << 32));
    };
    return _mm_unpacklo_epi64(two(0), two(2));
  };
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(four(0)), four(1), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(four(2)), four(3), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/// 4 x 4 transposition of the dwords of each lane: v[j] lane l dword k -> v[k] lane l dword j.
HWY_INLINE void transpose_dwords(__m512i v[4]) {
  const __m512i a = _mm512_unpacklo_epi32(v[0], v[1]);
  const __m512i b = _mm512_unpackhi_epi32(v[0], v[1]);
  const __m512i c = _mm512_unpacklo_epi32(v[2], v[3]);
  const __m512i d = _mm512_unpackhi_epi32(v[2], v[3]);
  v[0] = _mm512_unpacklo_epi64(a, c);
  v[1] = _mm512_unpackhi_epi64(a, c);
  v[2] = _mm512_unpacklo_epi64(b, d);
  v[3] = _mm512_unpackhi_epi64(b, d);
}

/// The 16 bytes at `offset` of each of 16 blocks: vector i has the i-th dword of block b in dword b.
HWY_INLINE void load_16_blocks(const Blocks& blocks, size_t offset, __m512i v[4]) {
  for (size_t j = 0; j < 4; ++j) v[j] = load_4_blocks(blocks.p + offset + j * blocks.near, blocks.far);
  transpose_dwords(v);
}

/// f32 of the f16 in the lower half of each dword.
HWY_INLINE __m512 f16_of_low_words(__m512i v) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v)); }
/// f32 of the f16 in the upper half of each dword.
HWY_INLINE __m512 f16_of_high_words(__m512i v) {
  return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(v, 16)));
}

/// Byte `i` of each dword, zero-extended.
HWY_INLINE __m512i byte_of_dwords(__m512i v, int i) {
  const __m512i pick =
      _mm512_broadcast_i32x4(_mm_setr_epi32(static_cast<int>(0x80808000u), static_cast<int>(0x80808004u),
                                            static_cast<int>(0x80808008u), static_cast<int>(0x8080800cu)));
  return _mm512_shuffle_epi8(v, _mm512_add_epi32(pick, _mm512_set1_epi32(i)));
}

// The 32-bit word of each row, given in the first dword of its lane, as a mask of 32 bits for each of two
// halves: sets `bit` in the bytes whose bit of the word is set.
HWY_INLINE __m512i or_fifth_bits(__m512i codes, __m512i words, int half) {
  const __m512i spread =
      _mm512_broadcast_i32x4(half == 0 ? _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
                                       : _mm_setr_epi8(2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3));
  const __m512i bits = _mm512_set1_epi64(static_cast<int64_t>(0x8040201008040201u));
  const __mmask64 set = _mm512_test_epi8_mask(_mm512_shuffle_epi8(words, spread), bits);
  return _mm512_mask_add_epi8(codes, set, codes, _mm512_set1_epi8(16));
}

/// The dword at `p` of each of four blocks, in the first dword of each lane (the others are not used).
HWY_INLINE __m512i load_4_words(const uint8_t* p, size_t far) {
  const auto word = [&](size_t i) HWY_ATTR { return _mm_loadu_si32(p + i * far); };
  const __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(word(0)), word(1), 1);
  const __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(word(2)), word(3), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

struct VnniQ8_0 : weights::Q8_0 {
  static constexpr int kBlockUnits = 1;
  static constexpr int kStepUnits = 1;
  static constexpr int kRawShift[kStepUnits] = {0};
  static constexpr int kBlockBytes = 34;

  template <bool kRaw>
  static HWY_INLINE void codes(const uint8_t* p, size_t far, int, UnitCodes* out) {
    const __m512i flip = _mm512_set1_epi8(-128);
    const __m512i first = load_2_blocks(p + 2, far);
    const __m512i second = load_2_blocks(p + 2 + 2 * far, far);
    out->low = _mm512_xor_si512(_mm512_shuffle_i32x4(first, second, 0x88), flip);
    out->high = _mm512_xor_si512(_mm512_shuffle_i32x4(first, second, 0xdd), flip);
  }
  using State = UnitScales;
  static HWY_INLINE void load(const Blocks& blocks, State& state) {
    state.scale[0] = _mm512_cvtph_ps(load_16_words(blocks, 0));
  }
  static HWY_INLINE UnitScales scales(const State& state, int) { return state; }
};

struct VnniQ4_0 : weights::Q4_0 {
  static constexpr int kBlockUnits = 1;
  static constexpr int kStepUnits = 1;
  static constexpr int kRawShift[kStepUnits] = {0};
  static constexpr int kBlockBytes = 18;

  template <bool kRaw>
  static HWY_INLINE void codes(const uint8_t* p, size_t far, int, UnitCodes* out) {
    const __m512i bytes = load_4_blocks(p + 2, far);
    *out = {low_nibbles(bytes), high_nibbles(bytes)};
  }
  using State = UnitScales;
  static HWY_INLINE void load(const Blocks& blocks, State& state) {
    state.scale[0] = _mm512_cvtph_ps(load_16_words(blocks, 0));
  }
  static HWY_INLINE UnitScales scales(const State& state, int) { return state; }
};

struct VnniQ4_1 : weights::Q4_1 {
  static constexpr int kBlockUnits = 1;
  static constexpr int kStepUnits = 1;
  static constexpr int kRawShift[kStepUnits] = {0};
  static constexpr int kBlockBytes = 20;

  template <bool kRaw>
  static HWY_INLINE void codes(const uint8_t* p, size_t far, int, UnitCodes* out) {
    const __m512i bytes = load_4_blocks(p + 4, far);
    *out = {low_nibbles(bytes), high_nibbles(bytes)};
  }
  using State = UnitScales;
  static HWY_INLINE void load(const Blocks& blocks, State& state) {
    const __m512i both = load_16_dwords(blocks);
    state.scale[0] = f16_of_low_words(both);
    state.min = f16_of_high_words(both);
  }
  static HWY_INLINE UnitScales scales(const State& state, int) { return state; }
};

struct VnniQ5_0 : weights::Q5_0 {
  static constexpr int kBlockUnits = 1;
  static constexpr int kStepUnits = 1;
  static constexpr int kRawShift[kStepUnits] = {0};
  static constexpr int kBlockBytes = 22;

  template <bool kRaw>
  static HWY_INLINE void codes(const uint8_t* p, size_t far, int, UnitCodes* out) {
    const __m512i bytes = load_4_blocks(p + 6, far);
    const __m512i words = load_4_words(p + 2, far);
    *out = {or_fifth_bits(low_nibbles(bytes), words, 0), or_fifth_bits(high_nibbles(bytes), words, 1)};
  }
  using State = UnitScales;
  static HWY_INLINE void load(const Blocks& blocks, State& state) {
    state.scale[0] = _mm512_cvtph_ps(load_16_words(blocks, 0));
  }
  static HWY_INLINE UnitScales scales(const State& state, int) { return state; }
};

struct VnniQ5_1 : weights::Q5_1 {
  static constexpr int kBlockUnits = 1;
  static constexpr int kStepUnits = 1;
  static constexpr int kRawShift[kStepUnits] = {0};
  static constexpr int kBlockBytes = 24;

  template <bool kRaw>
  static HWY_INLINE void codes(const uint8_t* p, size_t far, int, UnitCodes* out) {
    const __m512i bytes = load_4_blocks(p + 8, far);
    const __m512i words = load_4_words(p + 4, far);
    *out = {or_fifth_bits(low_nibbles(bytes), words, 0), or_fifth_bits(high_nibbles(bytes), words, 1)};
  }
  using State = UnitScales;
  static HWY_INLINE void load(const Blocks& blocks, State& state) {
    const __m512i both = load_16_dwords(blocks);
    state.scale[0] = f16_of_low_words(both);
    state.min = f16_of_high_words(both);
  }
  static HWY_INLINE UnitScales scales(const State& state, int) { return state; }
};

// Q4_K and Q5_K, lanes = rows. Bytes 0..3 of the 12 packed bytes hold the scales of units 0..3 and the upper
// bits of those of 4..7; bytes 4..7 the same of the mins; bytes 8..11 the lower four bits of both of
// units 4..7. So each dword holds four units of one row, and unit u is byte u % 4 after the bits are put
// together for four units at once.
struct KState {
  __m512 d;
  __m512 minus_dmin;
  __m512i scales[2];  ///< a byte for each of units 0..3 and 4..7
  __m512i mins[2];
};

HWY_INLINE void load_k_state(const Blocks& blocks, KState& state) {
  __m512i v[4];
  load_16_blocks(blocks, 0, v);
  state.d = f16_of_low_words(v[0]);
  state.minus_dmin = _mm512_xor_ps(f16_of_high_words(v[0]), _mm512_set1_ps(-0.0f));
  const __m512i six = _mm512_set1_epi8(63);
  const __m512i four = _mm512_set1_epi8(15);
  const __m512i two = _mm512_set1_epi8(48);
  const auto top = [&](__m512i x) HWY_ATTR { return _mm512_and_si512(_mm512_srli_epi32(x, 2), two); };
  state.scales[0] = _mm512_and_si512(v[1], six);
  state.scales[1] = _mm512_or_si512(_mm512_and_si512(v[3], four), top(v[1]));
  state.mins[0] = _mm512_and_si512(v[2], six);
  state.mins[1] = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(v[3], 4), four), top(v[2]));
}

HWY_INLINE UnitScales k_unit_scales(const KState& state, int u) {
  UnitScales out;
  out.scale[0] = _mm512_mul_ps(state.d, _mm512_cvtepi32_ps(byte_of_dwords(state.scales[u / 4], u % 4)));
  out.min = _mm512_mul_ps(state.minus_dmin, _mm512_cvtepi32_ps(byte_of_dwords(state.mins[u / 4], u % 4)));
  return out;
}

struct VnniQ4_K : weights::Q4_K {
  static constexpr int kBlockUnits = 8;
  static constexpr int kStepUnits = 2;
  static constexpr int kRawShift[kStepUnits] = {0, 4};
  static constexpr int kBlockBytes = 144;

  template <bool kRaw>
  static HWY_INLINE void codes(const uint8_t* p, size_t far, int step, UnitCodes* out) {
    const __m512i first = load_4_blocks(p + 16 + 32 * step, far);
    const __m512i second = load_4_blocks(p + 32 + 32 * step, far);
    out[0] = {low_nibbles(first), low_nibbles(second)};
    if constexpr (kRaw) {
      const __m512i high = _mm512_set1_epi8(static_cast<char>(0xf0));
      out[1] = {_mm512_and_si512(first, high), _mm512_and_si512(second, high)};
    } else {
      out[1] = {high_nibbles(first), high_nibbles(second)};
    }
  }
  using State = KState;
  static HWY_INLINE void load(const Blocks& blocks, State& state) { load_k_state(blocks, state); }
  static HWY_INLINE UnitScales scales(const State& state, int u) { return k_unit_scales(state, u); }
};

struct VnniQ5_K : weights::Q5_K {
  static constexpr int kBlockUnits = 8;
  static constexpr int kStepUnits = 2;
  static constexpr int kRawShift[kStepUnits] = {0, 0};
  static constexpr int kBlockBytes = 176;

  template <bool kRaw>
  static HWY_INLINE void codes(const uint8_t* p, size_t far, int step, UnitCodes* out) {
    const __m512i first = load_4_blocks(p + 48 + 32 * step, far);
    const __m512i second = load_4_blocks(p + 64 + 32 * step, far);
    const __m512i tops[2] = {load_4_blocks(p + 16, far), load_4_blocks(p + 32, far)};
    // Bit u of each byte of `tops`, moved to bit 4.
    const auto fifth = [&](__m512i v, int u) HWY_ATTR {
      const __m512i at_0 =
          _mm512_and_si512(_mm512_srli_epi16(v, static_cast<unsigned>(u)), _mm512_set1_epi8(1));
      return _mm512_slli_epi16(at_0, 4);
    };
    for (int i = 0; i < 2; ++i) {
      const int u = 2 * step + i;
      out[i].low = _mm512_or_si512(i == 0 ? low_nibbles(first) : high_nibbles(first), fifth(tops[0], u));
      out[i].high = _mm512_or_si512(i == 0 ? low_nibbles(second) : high_nibbles(second), fifth(tops[1], u));
    }
  }
  using State = KState;
  static HWY_INLINE void load(const Blocks& blocks, State& state) { load_k_state(blocks, state); }
  static HWY_INLINE UnitScales scales(const State& state, int u) { return k_unit_scales(state, u); }
};

struct VnniQ6_K : weights::Q6_K {
  static constexpr int kBlockUnits = 8;
  static constexpr int kStepUnits = 4;
  static constexpr int kRawShift[kStepUnits] = {0, 0, 0, 0};
  static constexpr int kBlockBytes = 210;

  /// Half `half` of the columns of the four units of a step.
  static HWY_INLINE void half_codes(const uint8_t* p, size_t far, int step, int half, __m512i* out) {
    const uint8_t* nibbles = p + 64 * step + 16 * half;
    const __m512i a = load_4_blocks(nibbles, far);
    const __m512i b = load_4_blocks(nibbles + 32, far);
    const __m512i t = load_4_blocks(p + 128 + 32 * step + 16 * half, far);
    const __m512i mask = _mm512_set1_epi8(48);
    // Bits 2v and 2v + 1 of each byte, moved to bits 4 and 5.
    out[0] = _mm512_or_si512(low_nibbles(a), _mm512_and_si512(_mm512_slli_epi16(t, 4), mask));
    out[1] = _mm512_or_si512(low_nibbles(b), _mm512_and_si512(_mm512_slli_epi16(t, 2), mask));
    out[2] = _mm512_or_si512(high_nibbles(a), _mm512_and_si512(t, mask));
    out[3] = _mm512_or_si512(high_nibbles(b), _mm512_and_si512(_mm512_srli_epi16(t, 2), mask));
  }
  template <bool kRaw>
  static HWY_INLINE void codes(const uint8_t* p, size_t far, int step, UnitCodes* out) {
    __m512i halves[2][4];
    for (int half = 0; half < 2; ++half) half_codes(p, far, step, half, halves[half]);
    for (int u = 0; u < 4; ++u) out[u] = {halves[0][u], halves[1][u]};
  }
  struct State {
    __m512 d;
    __m512i scales[4];  ///< a signed byte for each 16 columns
  };
  static HWY_INLINE void load(const Blocks& blocks, State& state) {
    load_16_blocks(blocks, 192, state.scales);
    state.d = _mm512_cvtph_ps(load_16_words(blocks, 208));
  }
  static HWY_INLINE UnitScales scales(const State& state, int u) {
    UnitScales out;
    for (int half = 0; half < 2; ++half) {
      const int shift = 24 - 8 * (u % 2 * 2 + half);
      const __m512i top = _mm512_slli_epi32(state.scales[u / 2], static_cast<unsigned>(shift));
      out.scale[half] = _mm512_mul_ps(state.d, _mm512_cvtepi32_ps(_mm512_srai_epi32(top, 24)));
    }
    return out;
  }
};

/// The reader of a format: engine_format(Q8_0()) -> VnniQ8_0().
VnniQ8_0 engine_format(weights::Q8_0);
VnniQ4_0 engine_format(weights::Q4_0);
VnniQ4_1 engine_format(weights::Q4_1);
VnniQ5_0 engine_format(weights::Q5_0);
VnniQ5_1 engine_format(weights::Q5_1);
VnniQ4_K engine_format(weights::Q4_K);
VnniQ5_K engine_format(weights::Q5_K);
VnniQ6_K engine_format(weights::Q6_K);

}  // namespace matmul_detail
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3_DL
#endif  // include guard that toggles with each target
