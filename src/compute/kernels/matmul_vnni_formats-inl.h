// How sixteen neighbouring rows of each block-quantized format are read with AVX-512: their codes, four rows
// at a time, and their scales and mins, one row in each lane. Both the product with one token and the packing
// for many tokens are written on top of these two functions. Bit layouts: weights/*.h, which define the same
// in scalar form.
//
// Each format has
//   kBlockUnits, kBlockBytes   units and bytes of a block
//   kStepUnits                 units that codes() reads at once (a divisor of kBlockUnits)
//   codes(p, stride, step, out)   p: the block of row j; rows j, j + 4, j + 8, j + 12 lie 4 * stride apart.
//   out[i] gets the
//                              codes of unit i of the step, row j + 4l in the l-th 128 bits
//   scales(rows, block, out)   per unit of the block
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

/// Codes of one unit: columns 0..15 and 16..31 of four rows.
struct UnitCodes {
  __m512i low;
  __m512i high;
};

/// Scales of a unit for 16 rows (two where the format has them for 16 columns), and mins.
struct UnitScales {
  __m512 scale[2];
  __m512 min;
};

HWY_INLINE __m512i low_nibbles(__m512i v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
HWY_INLINE __m512i high_nibbles(__m512i v) {
  return _mm512_and_si512(_mm512_srli_epi16(v, 4), _mm512_set1_epi8(15));
}

/// 16 bytes of each of four rows.
HWY_INLINE __m512i load_4_rows(const uint8_t* p, size_t stride) {
  const auto* q = reinterpret_cast<const __m128i*>(p);
  const auto at = [&](size_t row) HWY_ATTR {
    return reinterpret_cast<const __m128i*>(reinterpret_cast<const uint8_t*>(q) + 4 * row * stride);
  };
  const __m256i a =
      _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(at(0))), _mm_loadu_si128(at(1)), 1);
  const __m256i b =
      _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(at(2))), _mm_loadu_si128(at(3)), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

/// One dword of each of 16 rows.
HWY_INLINE __m512i load_16_dwords(const uint8_t* p, size_t stride) {
  const auto four = [&](size_t row) HWY_ATTR {
    const uint8_t* q = p + row * stride;
    __m128i v = _mm_loadu_si32(q);
    v = _mm_insert_epi32(v, static_cast<int>(weights::load_u32(q + stride)), 1);
    v = _mm_insert_epi32(v, static_cast<int>(weights::load_u32(q + 2 * stride)), 2);
    return _mm_insert_epi32(v, static_cast<int>(weights::load_u32(q + 3 * stride)), 3);
  };
  const __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(four(0)), four(4), 1);
  const __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(four(8)), four(12), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

/// f32 of the f16 in the lower half of each dword.
HWY_INLINE __m512 f16_of_low_words(__m512i v) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v)); }
/// f32 of the f16 in the upper half of each dword.
HWY_INLINE __m512 f16_of_high_words(__m512i v) {
  return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(v, 16)));
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

/// The dword at `p` of each of four rows, in the first dword of each lane (the others are not used).
HWY_INLINE __m512i load_4_words(const uint8_t* p, size_t stride) {
  const auto word = [&](size_t row) HWY_ATTR { return _mm_loadu_si32(p + 4 * row * stride); };
  const __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(word(0)), word(1), 1);
  const __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(word(2)), word(3), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

struct VnniQ8_0 : weights::Q8_0 {
  static constexpr int kBlockUnits = 1;
  static constexpr int kStepUnits = 1;
  static constexpr int kBlockBytes = 34;

  static HWY_INLINE void codes(const uint8_t* p, size_t stride, int, UnitCodes* out) {
    const __m512i flip = _mm512_set1_epi8(-128);
    out->low = _mm512_xor_si512(load_4_rows(p + 2, stride), flip);
    out->high = _mm512_xor_si512(load_4_rows(p + 18, stride), flip);
  }
  static HWY_INLINE void scales(const RowGroup& rows, int64_t block, UnitScales* out) {
    out->scale[0] = f16_of_low_words(load_16_dwords(rows.data + block * kBlockBytes, rows.stride));
  }
};

struct VnniQ4_0 : weights::Q4_0 {
  static constexpr int kBlockUnits = 1;
  static constexpr int kStepUnits = 1;
  static constexpr int kBlockBytes = 18;

  static HWY_INLINE void codes(const uint8_t* p, size_t stride, int, UnitCodes* out) {
    const __m512i bytes = load_4_rows(p + 2, stride);
    *out = {low_nibbles(bytes), high_nibbles(bytes)};
  }
  static HWY_INLINE void scales(const RowGroup& rows, int64_t block, UnitScales* out) {
    out->scale[0] = f16_of_low_words(load_16_dwords(rows.data + block * kBlockBytes, rows.stride));
  }
};

struct VnniQ4_1 : weights::Q4_1 {
  static constexpr int kBlockUnits = 1;
  static constexpr int kStepUnits = 1;
  static constexpr int kBlockBytes = 20;

  static HWY_INLINE void codes(const uint8_t* p, size_t stride, int, UnitCodes* out) {
    const __m512i bytes = load_4_rows(p + 4, stride);
    *out = {low_nibbles(bytes), high_nibbles(bytes)};
  }
  static HWY_INLINE void scales(const RowGroup& rows, int64_t block, UnitScales* out) {
    const __m512i both = load_16_dwords(rows.data + block * kBlockBytes, rows.stride);
    out->scale[0] = f16_of_low_words(both);
    out->min = f16_of_high_words(both);
  }
};

struct VnniQ5_0 : weights::Q5_0 {
  static constexpr int kBlockUnits = 1;
  static constexpr int kStepUnits = 1;
  static constexpr int kBlockBytes = 22;

  static HWY_INLINE void codes(const uint8_t* p, size_t stride, int, UnitCodes* out) {
    const __m512i bytes = load_4_rows(p + 6, stride);
    const __m512i words = load_4_words(p + 2, stride);
    *out = {or_fifth_bits(low_nibbles(bytes), words, 0), or_fifth_bits(high_nibbles(bytes), words, 1)};
  }
  static HWY_INLINE void scales(const RowGroup& rows, int64_t block, UnitScales* out) {
    out->scale[0] = f16_of_low_words(load_16_dwords(rows.data + block * kBlockBytes, rows.stride));
  }
};

struct VnniQ5_1 : weights::Q5_1 {
  static constexpr int kBlockUnits = 1;
  static constexpr int kStepUnits = 1;
  static constexpr int kBlockBytes = 24;

  static HWY_INLINE void codes(const uint8_t* p, size_t stride, int, UnitCodes* out) {
    const __m512i bytes = load_4_rows(p + 8, stride);
    const __m512i words = load_4_words(p + 4, stride);
    *out = {or_fifth_bits(low_nibbles(bytes), words, 0), or_fifth_bits(high_nibbles(bytes), words, 1)};
  }
  static HWY_INLINE void scales(const RowGroup& rows, int64_t block, UnitScales* out) {
    const __m512i both = load_16_dwords(rows.data + block * kBlockBytes, rows.stride);
    out->scale[0] = f16_of_low_words(both);
    out->min = f16_of_high_words(both);
  }
};

// Q4_K and Q5_K, lanes = rows. Bytes 0..3 of the 12 packed bytes hold the scales of units 0..3 and the upper
// bits of those of 4..7; bytes 4..7 the same of the mins; bytes 8..11 the lower four bits of both of
// units 4..7. So each dword holds four units of one row, and unit u is byte u % 4 after the bits are put
// together for four units at once.
HWY_INLINE void k_scales(const RowGroup& rows, int64_t block, size_t block_bytes, UnitScales* out) {
  const uint8_t* p = rows.data + static_cast<size_t>(block) * block_bytes;
  const __m512i d_dmin = load_16_dwords(p, rows.stride);
  const __m512 d = f16_of_low_words(d_dmin);
  const __m512 minus_dmin = _mm512_xor_ps(f16_of_high_words(d_dmin), _mm512_set1_ps(-0.0f));
  const __m512i a = load_16_dwords(p + 4, rows.stride);
  const __m512i b = load_16_dwords(p + 8, rows.stride);
  const __m512i c = load_16_dwords(p + 12, rows.stride);
  const __m512i six = _mm512_set1_epi8(63);
  const __m512i four = _mm512_set1_epi8(15);
  const __m512i two = _mm512_set1_epi8(48);
  const auto top = [&](__m512i v) HWY_ATTR { return _mm512_and_si512(_mm512_srli_epi32(v, 2), two); };
  const __m512i scale_words[2] = {_mm512_and_si512(a, six),
                                  _mm512_or_si512(_mm512_and_si512(c, four), top(a))};
  const __m512i min_words[2] = {_mm512_and_si512(b, six),
                                _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(c, 4), four), top(b))};
  const auto byte = [](__m512i v, int i) HWY_ATTR {
    return _mm512_cvtepi32_ps(
        _mm512_and_si512(_mm512_srli_epi32(v, static_cast<unsigned>(8 * i)), _mm512_set1_epi32(255)));
  };
  for (int u = 0; u < 8; ++u) {
    out[u].scale[0] = _mm512_mul_ps(d, byte(scale_words[u / 4], u % 4));
    out[u].min = _mm512_mul_ps(minus_dmin, byte(min_words[u / 4], u % 4));
  }
}

struct VnniQ4_K : weights::Q4_K {
  static constexpr int kBlockUnits = 8;
  static constexpr int kStepUnits = 2;
  static constexpr int kBlockBytes = 144;

  static HWY_INLINE void codes(const uint8_t* p, size_t stride, int step, UnitCodes* out) {
    const __m512i first = load_4_rows(p + 16 + 32 * step, stride);
    const __m512i second = load_4_rows(p + 32 + 32 * step, stride);
    out[0] = {low_nibbles(first), low_nibbles(second)};
    out[1] = {high_nibbles(first), high_nibbles(second)};
  }
  static HWY_INLINE void scales(const RowGroup& rows, int64_t block, UnitScales* out) {
    k_scales(rows, block, kBlockBytes, out);
  }
};

struct VnniQ5_K : weights::Q5_K {
  static constexpr int kBlockUnits = 8;
  static constexpr int kStepUnits = 2;
  static constexpr int kBlockBytes = 176;

  static HWY_INLINE void codes(const uint8_t* p, size_t stride, int step, UnitCodes* out) {
    const __m512i first = load_4_rows(p + 48 + 32 * step, stride);
    const __m512i second = load_4_rows(p + 64 + 32 * step, stride);
    const __m512i tops[2] = {load_4_rows(p + 16, stride), load_4_rows(p + 32, stride)};
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
  static HWY_INLINE void scales(const RowGroup& rows, int64_t block, UnitScales* out) {
    k_scales(rows, block, kBlockBytes, out);
  }
};

struct VnniQ6_K : weights::Q6_K {
  static constexpr int kBlockUnits = 8;
  static constexpr int kStepUnits = 4;
  static constexpr int kBlockBytes = 210;

  static HWY_INLINE void codes(const uint8_t* p, size_t stride, int step, UnitCodes* out) {
    const uint8_t* nibbles = p + 64 * step;
    const uint8_t* tops = p + 128 + 32 * step;
    for (int half = 0; half < 2; ++half) {
      const __m512i a = load_4_rows(nibbles + 16 * half, stride);
      const __m512i b = load_4_rows(nibbles + 32 + 16 * half, stride);
      const __m512i t = load_4_rows(tops + 16 * half, stride);
      const __m512i mask = _mm512_set1_epi8(48);
      // Bits 2v and 2v + 1 of each byte, moved to bits 4 and 5.
      const __m512i v[4] = {
          _mm512_or_si512(low_nibbles(a), _mm512_and_si512(_mm512_slli_epi16(t, 4), mask)),
          _mm512_or_si512(low_nibbles(b), _mm512_and_si512(_mm512_slli_epi16(t, 2), mask)),
          _mm512_or_si512(high_nibbles(a), _mm512_and_si512(t, mask)),
          _mm512_or_si512(high_nibbles(b), _mm512_and_si512(_mm512_srli_epi16(t, 2), mask))};
      for (int u = 0; u < 4; ++u) (half == 0 ? out[u].low : out[u].high) = v[u];
    }
  }
  static HWY_INLINE void scales(const RowGroup& rows, int64_t block, UnitScales* out) {
    const uint8_t* p = rows.data + static_cast<size_t>(block) * kBlockBytes;
    // The dword that ends with d; it begins with the last two scales.
    const __m512 d = f16_of_high_words(load_16_dwords(p + 206, rows.stride));
    for (int pair = 0; pair < 4; ++pair) {
      const __m512i four = load_16_dwords(p + 192 + 4 * pair, rows.stride);
      for (int i = 0; i < 4; ++i) {
        const __m512i moved = _mm512_slli_epi32(four, static_cast<unsigned>(24 - 8 * i));
        out[2 * pair + i / 2].scale[i % 2] =
            _mm512_mul_ps(d, _mm512_cvtepi32_ps(_mm512_srai_epi32(moved, 24)));
      }
    }
  }
};

/// Parameter `index` of 16 rows.
HWY_INLINE __m512 load_16_parameters(const RowGroup& rows, const uint8_t* array, int64_t index) {
  HWY_ALIGN float values[16];
  for (size_t row = 0; row < 16; ++row) {
    values[row] = weights::load_parameter(array + row * rows.parameter_stride, rows.parameter_type, index);
  }
  return _mm512_load_ps(values);
}

HWY_INLINE void affine_scales(const RowGroup& rows, int64_t unit, UnitScales* out) {
  const int64_t group = unit / rows.group_units;
  out->scale[0] = load_16_parameters(rows, rows.scales, group);
  out->min = load_16_parameters(rows, rows.biases, group);
}

struct VnniAffine4 : weights::Affine4 {
  static constexpr int kBlockUnits = 1;
  static constexpr int kStepUnits = 1;
  static constexpr int kBlockBytes = 16;

  static HWY_INLINE void codes(const uint8_t* p, size_t stride, int, UnitCodes* out) {
    const __m512i bytes = load_4_rows(p, stride);
    const __m512i even = low_nibbles(bytes);
    const __m512i odd = high_nibbles(bytes);
    *out = {_mm512_unpacklo_epi8(even, odd), _mm512_unpackhi_epi8(even, odd)};
  }
  static HWY_INLINE void scales(const RowGroup& rows, int64_t unit, UnitScales* out) {
    affine_scales(rows, unit, out);
  }
};

struct VnniAffine8 : weights::Affine8 {
  static constexpr int kBlockUnits = 1;
  static constexpr int kStepUnits = 1;
  static constexpr int kBlockBytes = 32;

  static HWY_INLINE void codes(const uint8_t* p, size_t stride, int, UnitCodes* out) {
    *out = {load_4_rows(p, stride), load_4_rows(p + 16, stride)};
  }
  static HWY_INLINE void scales(const RowGroup& rows, int64_t unit, UnitScales* out) {
    affine_scales(rows, unit, out);
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
VnniAffine4 engine_format(weights::Affine4);
VnniAffine8 engine_format(weights::Affine8);

}  // namespace matmul_detail
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3_DL
#endif  // include guard that toggles with each target
