// Block-quantized products of one token with four weight rows at a time, with AVX-512 VNNI: four long streams
// are faster to read than the sixteen of one_token() in matmul_vnni-inl.h. The chains of the four rows'
// outputs lie in the four dwords of 128 bits, and run over the columns as they do there.
//
// Short blocks: four consecutive blocks of each row, one in each 128 bits.
// Q6_K: 64 consecutive columns of a row, which are four groups with a scale of their own, one in each 128
// bits.
#if defined(KVERN_COMPUTE_KERNELS_MATMUL_VNNI_FOUR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_COMPUTE_KERNELS_MATMUL_VNNI_FOUR_INL_H_
#undef KVERN_COMPUTE_KERNELS_MATMUL_VNNI_FOUR_INL_H_
#else
#define KVERN_COMPUTE_KERNELS_MATMUL_VNNI_FOUR_INL_H_
#endif

#include "hwy/highway.h"

#include <cstdint>
#include <span>
#include <type_traits>

#include "compute/kernels/matmul_vnni-inl.h"

#if HWY_TARGET == HWY_AVX3_DL

HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni");
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace matmul_detail {

/// Number i of four, four times in the i-th 128 bits.
HWY_INLINE __m512i four_times(const void* numbers) {
  const __m128i four = _mm_load_si128(static_cast<const __m128i*>(numbers));
  const __m512i index = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
  return _mm512_permutexvar_epi32(index, _mm512_castsi128_si512(four));
}

template <int kLane>
HWY_INLINE __m128 lane_of(__m512 v) {
  if constexpr (kLane == 0) return _mm512_castps512_ps128(v);
  return _mm512_extractf32x4_ps(v, kLane);
}

/// What joins the chains of four rows: the l-th of four terms of row j in lane 4 l + j. They join when the
/// next terms are on their way: chains are long, and what waits for them would keep those from being begun.
struct FourTerms {
  __m512 scale;
  __m512 dot;
  __m512 min;
  const float* d_sum;
};
HWY_INLINE FourTerms no_terms() {
  alignas(16) static constexpr float kZeros[4] = {};
  return {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), kZeros};
}
template <bool kHasMin>
HWY_INLINE __m128 join(__m128 acc, const FourTerms& terms) {
  const auto one = [&](__m128 scale, __m128 dot, __m128 min, size_t lane) HWY_ATTR {
    acc = _mm_fmadd_ps(scale, dot, acc);
    if constexpr (kHasMin) acc = _mm_fmadd_ps(min, _mm_set1_ps(terms.d_sum[lane]), acc);
  };
  one(lane_of<0>(terms.scale), lane_of<0>(terms.dot), lane_of<0>(terms.min), 0);
  one(lane_of<1>(terms.scale), lane_of<1>(terms.dot), lane_of<1>(terms.min), 1);
  one(lane_of<2>(terms.scale), lane_of<2>(terms.dot), lane_of<2>(terms.min), 2);
  one(lane_of<3>(terms.scale), lane_of<3>(terms.dot), lane_of<3>(terms.min), 3);
  return acc;
}

// ---- short blocks: four of each row

/// Four units of the activations, for a multiplication with four blocks in the four lanes of 128 bits.
struct alignas(64) Quad {
  int8_t low[4][16];
  int8_t high[4][16];
  float d[4];
  float d_sum[4];
  int32_t start[4];
};

/// The units of one token's image as quads; their number is a multiple of four.
HWY_NOINLINE inline void make_four_input(std::byte* image, int64_t units, Quad* quads) {
  for (int64_t u = 0; u < units; ++u, image += kTokenUnitBytes) {
    const TileUnit unit = tile_unit(image, 1);
    Quad& quad = quads[u / 4];
    const auto lane = static_cast<size_t>(u % 4);
    __builtin_memcpy(quad.low[lane], unit.codes, 16);
    __builtin_memcpy(quad.high[lane], unit.codes + 16, 16);
    quad.d[lane] = *unit.d;
    quad.d_sum[lane] = *unit.d_sum;
    quad.start[lane] = *unit.start;
  }
}

/// Integer dot products of the next four blocks of four rows: block l of row j in lane 4 l + j.
template <typename F>
HWY_INLINE __m512i quad_dots(const Blocks& blocks, const Quad& quad) {
  const __m512i low = _mm512_load_si512(quad.low);
  const __m512i high = _mm512_load_si512(quad.high);
  __m512i sums[4];
#pragma GCC unroll 4
  for (size_t j = 0; j < 4; ++j) {
    UnitCodes codes[1];
    F::template codes<true>(blocks.p + j * blocks.near, blocks.far, 0, codes);
    sums[j] = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(_mm512_setzero_si512(), codes[0].low, low),
                                  codes[0].high, high);
  }
  const __m512i dots = sum_dwords(sums);
  if constexpr (F::kOffset == 0) return dots;
  constexpr int kShift = F::kOffset == 128 ? 0 : F::kOffset == 16 ? 3 : 4;
  static_assert(F::kOffset == 0 || 128 >> kShift == F::kOffset);
  return _mm512_add_epi32(dots, _mm512_srai_epi32(four_times(quad.start), kShift));
}

/// Four rows `stride` apart times one token.
template <typename F>
HWY_NOINLINE void four_rows(const uint8_t* rows, size_t stride, std::span<const Quad> quads, float* out,
                            Prefetch& prefetch) {
  static_assert(F::kRawShift[0] == 0);
  __m128 acc = _mm_setzero_ps();
  FourTerms last = no_terms();
  for (const Quad& quad : quads) {
    prefetch.step();
    const Blocks blocks = {rows, stride, F::kBlockBytes};
    typename F::State state;
    F::load(blocks, state);
    const __m512 dots = _mm512_cvtepi32_ps(quad_dots<F>(blocks, quad));
    const UnitScales w = F::scales(state, 0);
    acc = join<F::kHasMin>(acc, last);
    last.scale = _mm512_mul_ps(w.scale[0], _mm512_castsi512_ps(four_times(quad.d)));
    last.dot = dots;
    if constexpr (F::kHasMin) {
      last.min = w.min;
      last.d_sum = quad.d_sum;
    }
    rows += 4 * F::kBlockBytes;
  }
  _mm_storeu_ps(out, join<F::kHasMin>(acc, last));
}

// ---- Q6_K

/// 64 columns of the activations: four groups of sixteen, and numbers of each.
struct alignas(64) Columns {
  int8_t codes[64];
  float d[4];
  int32_t start[4];  ///< cancels the offset of 32 in the weights' codes
};

/// The units of one token's image, two and two; their number is even.
HWY_NOINLINE inline void make_four_input(std::byte* image, int64_t units, Columns* columns) {
  for (int64_t u = 0; u < units; ++u, image += kTokenUnitBytes) {
    const TileUnit unit = tile_unit(image, 1);
    Columns& to = columns[u / 2];
    const auto half = static_cast<size_t>(u % 2);
    __builtin_memcpy(to.codes + 32 * half, unit.codes, 32);
    to.d[2 * half] = to.d[2 * half + 1] = *unit.d;
    to.start[2 * half] = *unit.start0 / (128 / VnniQ6_K::kOffset);
    to.start[2 * half + 1] = (*unit.start - *unit.start0) / (128 / VnniQ6_K::kOffset);
  }
}

/// Codes of columns [128 step, 128 step + 128) of a block, 64 in each of two vectors.
HWY_INLINE void q6_k_codes(const uint8_t* block, int step, __m512i out[2]) {
  const __m512i nibbles = _mm512_loadu_si512(block + 64 * step);
  const __m512i tops =
      _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 128 + 32 * step)));
  // Bits 2u and 2u + 1 of each byte, of unit u of the step, move to bits 4 and 5.
  const __m512i left = _mm512_inserti64x4(_mm512_set1_epi16(4), _mm256_set1_epi16(2), 1);
  const __m512i right = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(2), 1);
  const __m512i mask = _mm512_set1_epi8(48);
  constexpr int kAndOr = 0xEA;  // (a & b) | c
  out[0] = _mm512_ternarylogic_epi32(_mm512_sllv_epi16(tops, left), mask, low_nibbles(nibbles), kAndOr);
  out[1] = _mm512_ternarylogic_epi32(_mm512_srlv_epi16(tops, right), mask, high_nibbles(nibbles), kAndOr);
}

/// Integer dot products of columns [128 step, 128 step + 128) of four rows: of each 64, group l of row j in
/// lane 4 l + j.
HWY_INLINE void q6_k_dots(const uint8_t* rows, size_t stride, int step, const Columns* x, __m512i out[2]) {
  __m512i sums[2][4];
  for (int i = 0; i < 2; ++i) {
    const __m512i first_of_four = _mm512_maskz_mov_epi32(0x1111, four_times(x[i].start));
    for (size_t j = 0; j < 4; ++j) sums[i][j] = first_of_four;
  }
#pragma GCC unroll 4
  for (size_t j = 0; j < 4; ++j) {
    __m512i codes[2];
    q6_k_codes(rows + j * stride, step, codes);
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i)
      sums[i][j] = _mm512_dpbusd_epi32(sums[i][j], codes[i], _mm512_load_si512(x[i].codes));
  }
  for (int i = 0; i < 2; ++i) out[i] = sum_dwords(sums[i]);
}

/// The scales of four rows' blocks: of columns [64 i, 64 i + 64), group l of row j in lane 4 l + j.
struct Q6KScales {
  __m512i bytes;  ///< sixteen of each row
  __m512 d;       ///< row j in lanes 4 l + j, by 2^-24

  __m512 at(int i) const {
    // A byte at the top of a dword is a multiple of 2^24.
    const __m512i first = _mm512_set_epi32(
        0x33 << 24, 0x23 << 24, 0x13 << 24, 0x03 << 24, 0x32 << 24, 0x22 << 24, 0x12 << 24, 0x02 << 24,
        0x31 << 24, 0x21 << 24, 0x11 << 24, 0x01 << 24, 0x30 << 24, 0x20 << 24, 0x10 << 24, 0x00 << 24);
    const __m512i pick = _mm512_add_epi8(first, _mm512_set1_epi8(static_cast<char>(4 * i)));
    const __m512i tops = _mm512_maskz_permutexvar_epi8(0x8888888888888888u, pick, bytes);
    return _mm512_mul_ps(d, _mm512_cvtepi32_ps(tops));
  }
};
HWY_INLINE Q6KScales q6_k_scales(const uint8_t* rows, size_t stride) {
  const auto word = [&](size_t j) HWY_ATTR {
    return static_cast<uint64_t>(weights::load_u16(rows + j * stride + 208)) << 16 * j;
  };
  const __m128i words = _mm_cvtsi64_si128(static_cast<int64_t>(word(0) | word(1) | word(2) | word(3)));
  const __m512 d = _mm512_broadcast_f32x4(_mm_cvtph_ps(words));
  return {load_4_blocks(rows + 192, stride), _mm512_mul_ps(d, _mm512_set1_ps(0x1p-24f))};
}

/// Four rows `stride` apart times one token.
template <typename F>
HWY_NOINLINE void four_rows(const uint8_t* rows, size_t stride, std::span<const Columns> input, float* out,
                            Prefetch& prefetch) {
  static_assert(std::is_same_v<F, VnniQ6_K>);
  __m128 acc = _mm_setzero_ps();
  FourTerms last = no_terms();
  for (const Columns *x = input.data(), *end = x + input.size(); x != end; rows += F::kBlockBytes) {
    prefetch.step();
    const Q6KScales scales = q6_k_scales(rows, stride);
#pragma GCC unroll 2
    for (int step = 0; step < 2; ++step) {
      __m512i sums[2];
      q6_k_dots(rows, stride, step, x, sums);
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i, ++x) {
        acc = join<false>(acc, last);
        last.scale = _mm512_mul_ps(scales.at(2 * step + i), _mm512_castsi512_ps(four_times(x->d)));
        last.dot = _mm512_cvtepi32_ps(sums[i]);
      }
    }
  }
  _mm_storeu_ps(out, join<false>(acc, last));
}

// ---- by format

template <typename F>
inline constexpr bool kHasShortBlocks = F::kBlockUnits == 1 && F::kScales == 1;

/// Formats of which four rows are read together.
template <typename F>
inline constexpr bool kReadsFourRows = kHasShortBlocks<F> || std::is_same_v<F, VnniQ6_K>;

/// What four_rows() takes the activations as, how many units each has, and the bytes of a row for which it
/// steps the prefetch.
template <typename F>
using FourInput = std::conditional_t<kHasShortBlocks<F>, Quad, Columns>;
template <typename F>
inline constexpr int64_t kFourInputUnits = kHasShortBlocks<F> ? 4 : 2;
template <typename F>
inline constexpr size_t kFourStepBytes = (kHasShortBlocks<F> ? 4 : 1) * F::kBlockBytes;

}  // namespace matmul_detail
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_POP_ATTRIBUTES;

#endif  // HWY_TARGET == HWY_AVX3_DL
#endif  // include guard that toggles with each target
