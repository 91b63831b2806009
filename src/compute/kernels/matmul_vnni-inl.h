// Block-quantized products with AVX-512 VNNI. Sixteen weight rows lie in the sixteen lanes; the chain of one
// output runs over the units in column order:
//   acc = fma(scale_w * d_x, float(dot), acc)          (twice for formats with a scale for 16 columns)
//   acc = fma(min_w, d_x * sum_x, acc)                 (formats with mins)
// vpdpbusd multiplies unsigned weight codes with signed activation codes, so the offset of the codes is taken
// off the integer sum, exactly, before it becomes a float.
//
// One token reads codes and multiplies at once (some formats by matmul_vnni_four-inl.h). More tokens go
// through a panel piece in L1: 16 rows x kPieceUnits, per unit eight vectors of dwords (dword = four columns
// of one row), then the scales, then the mins.
#if defined(KVERN_COMPUTE_KERNELS_MATMUL_VNNI_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_COMPUTE_KERNELS_MATMUL_VNNI_INL_H_
#undef KVERN_COMPUTE_KERNELS_MATMUL_VNNI_INL_H_
#else
#define KVERN_COMPUTE_KERNELS_MATMUL_VNNI_INL_H_
#endif

#include "hwy/highway.h"

#include <cstdint>
#include <span>

#include "compute/kernels/matmul_activations-inl.h"
#include "compute/kernels/matmul_vnni_formats-inl.h"

#if HWY_TARGET == HWY_AVX3_DL

// Highway's target string for this class of processors leaves out the instruction that this file is about.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni");
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace matmul_detail {

/// Adds the four dwords of each lane of s[0..3]: dword 4l + j of the result is the sum of lane l of s[j].
HWY_INLINE __m512i sum_dwords(const __m512i s[4]) {
  const __m512i a = _mm512_add_epi32(_mm512_unpacklo_epi32(s[0], s[1]), _mm512_unpackhi_epi32(s[0], s[1]));
  const __m512i b = _mm512_add_epi32(_mm512_unpacklo_epi32(s[2], s[3]), _mm512_unpackhi_epi32(s[2], s[3]));
  return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

HWY_INLINE __m512i broadcast_16_bytes(const int8_t* p) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

/// start (for an offset of 128) scaled to the offset of a format.
template <int kOffset>
HWY_INLINE __m512i start_vector(int32_t start) {
  static_assert(kOffset == 0 || 128 % kOffset == 0);
  if constexpr (kOffset == 0) return _mm512_setzero_si512();
  return _mm512_set1_epi32(start / (128 / (kOffset == 0 ? 128 : kOffset)));
}

/// One unit's steps of the chain.
template <typename F>
HWY_INLINE __m512 chain(__m512 acc, const __m512i* sums, const UnitScales& w, float d, float d_sum) {
#pragma GCC unroll 2
  for (int i = 0; i < F::kScales; ++i) {
    acc = _mm512_fmadd_ps(_mm512_mul_ps(w.scale[i], _mm512_set1_ps(d)), _mm512_cvtepi32_ps(sums[i]), acc);
  }
  if constexpr (F::kHasMin) acc = _mm512_fmadd_ps(w.min, _mm512_set1_ps(d_sum), acc);
  return acc;
}

/// A raw code is a multiple of a power of two, and so is the sum of products.
template <typename F>
HWY_INLINE __m512i sum_of_raw(const __m512i sums[4], int unit) {
  const __m512i sum = sum_dwords(sums);
  return F::kRawShift[unit] == 0 ? sum : _mm512_srai_epi32(sum, F::kRawShift[unit]);
}

/// Sixteen rows times one token, the units of one step; `x` is the first one's activations. Returns their
/// sums of products, without offset, in lanes: [unit][half if the format has two scales, else only 0].
template <typename F>
HWY_INLINE void step_sums(const uint8_t* block, size_t stride, int step, std::byte* x,
                          __m512i (&out)[F::kStepUnits][2]) {
  const __m512i zero = _mm512_setzero_si512();
  __m512i sums[F::kStepUnits][4];
  const auto activations = [&](int unit) HWY_ATTR {
    return tile_unit(x + static_cast<size_t>(unit) * kTokenUnitBytes, 1).codes;
  };
  if constexpr (F::kScales == 2) {
    // Half by half, so that the sums fit into registers.
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 4
      for (size_t j = 0; j < 4; ++j) {
        __m512i codes[F::kStepUnits];
        F::half_codes(block + j * stride, 4 * stride, step, half, codes);
#pragma GCC unroll 4
        for (int i = 0; i < F::kStepUnits; ++i) {
          sums[i][j] = _mm512_dpbusd_epi32(zero, codes[i], broadcast_16_bytes(activations(i) + 16 * half));
        }
      }
#pragma GCC unroll 4
      for (int i = 0; i < F::kStepUnits; ++i) out[i][half] = sum_of_raw<F>(sums[i], i);
    }
  } else {
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j) {
      UnitCodes codes[F::kStepUnits];
      F::template codes<true>(block + j * stride, 4 * stride, step, codes);
#pragma GCC unroll 4
      for (int i = 0; i < F::kStepUnits; ++i) {
        const int8_t* q = activations(i);
        const __m512i low = _mm512_dpbusd_epi32(zero, codes[i].low, broadcast_16_bytes(q));
        sums[i][j] = _mm512_dpbusd_epi32(low, codes[i].high, broadcast_16_bytes(q + 16));
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < F::kStepUnits; ++i) out[i][0] = sum_of_raw<F>(sums[i], i);
  }
}

/// The units of step `step` of a block join the chain.
template <typename F>
HWY_INLINE __m512 one_token_step(__m512 acc, const uint8_t* block, size_t stride, int step,
                                 const typename F::State& state, std::byte* x) {
  __m512i dots[F::kStepUnits][2];
  step_sums<F>(block, stride, step, x, dots);
#pragma GCC unroll 4
  for (int i = 0; i < F::kStepUnits; ++i) {
    const TileUnit t = tile_unit(x + static_cast<size_t>(i) * kTokenUnitBytes, 1);
    if constexpr (F::kOffset != 0) {
      const int32_t starts[2] = {F::kScales == 2 ? *t.start0 : *t.start, *t.start - *t.start0};
      for (int s = 0; s < F::kScales; ++s)
        dots[i][s] = _mm512_add_epi32(dots[i][s], start_vector<F::kOffset>(starts[s]));
    }
    acc = chain<F>(acc, dots[i], F::scales(state, step * F::kStepUnits + i), *t.d, *t.d_sum);
  }
  return acc;
}

using internal::Prefetch;

/// Units between two steps of the prefetch in one_token() and pack().
template <typename F>
inline constexpr int64_t kPrefetchUnits = F::kStepUnits;

template <typename F>
HWY_NOINLINE void one_token(const RowGroup& rows, int64_t units, std::byte* x, float* out,
                            Prefetch& prefetch) {
  __m512 acc = _mm512_setzero_ps();
  typename F::State state;
  const uint8_t* block = rows.data;
  for (int64_t i = 0; i < units / F::kBlockUnits; ++i, block += F::kBlockBytes) {
    F::load(blocks_of_rows(rows, block), state);
#pragma GCC unroll 4
    for (int step = 0; step < F::kBlockUnits / F::kStepUnits; ++step) {
      prefetch.step();
      acc = one_token_step<F>(acc, block, rows.stride, step, state, x);
      x += F::kStepUnits * kTokenUnitBytes;
    }
  }
  _mm512_storeu_ps(out, acc);
}

// ---- panel pieces

using PanelTiles = Tiling<6, 1>;

template <typename F>
inline constexpr size_t kPanelUnitBytes = 512 + 64 * (F::kScales + (F::kHasMin ? 1 : 0));

/// All that the multiplication of packed panels has to know about a format, so that formats share its code.
template <int kScaleCount, bool kMin, bool kCodeOffset>
struct PanelShape {
  static constexpr int kScales = kScaleCount;
  static constexpr bool kHasMin = kMin;
  static constexpr int kOffset = kCodeOffset ? 128 : 0;
};
template <typename F>
using PanelShapeOf = PanelShape<F::kScales, F::kHasMin, F::kOffset != 0>;

/// How codes with an offset are stored in a panel.
enum class PanelCodes : uint8_t {
  kUnsigned,  ///< with an offset of 128, so that one start value of the activations serves all
  kSigned     ///< without
};
template <typename F, PanelCodes kCodes>
HWY_INLINE __m512i panel_code(__m512i codes) {
  constexpr int kWanted = F::kOffset == 0 || kCodes == PanelCodes::kSigned ? 0 : 128;
  if constexpr (F::kOffset == kWanted) return codes;
  return _mm512_add_epi8(codes, _mm512_set1_epi8(static_cast<char>(kWanted - F::kOffset)));
}

/// Packs one unit of 16 rows.
template <typename F>
HWY_INLINE void pack_unit(__m512i (&codes)[2][4], const UnitScales& scales, uint8_t* out) {
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    transpose_dwords(codes[half]);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) _mm512_store_si512(out + (4 * half + k) * 64, codes[half][k]);
  }
#pragma GCC unroll 2
  for (int k = 0; k < F::kScales; ++k) _mm512_store_ps(out + 512 + 64 * k, scales.scale[k]);
  if constexpr (F::kHasMin) _mm512_store_ps(out + 512 + 64 * F::kScales, scales.min);
}

/// Packs units [first, first + count) of 16 rows. Both are multiples of F::kBlockUnits.
template <typename F, PanelCodes kCodes = PanelCodes::kUnsigned>
HWY_NOINLINE void pack(const RowGroup& rows, int64_t first, int64_t count, uint8_t* out, Prefetch& prefetch) {
  typename F::State state;
  for (int64_t i = first / F::kBlockUnits; i < (first + count) / F::kBlockUnits; ++i) {
    const uint8_t* block = rows.data + i * F::kBlockBytes;
    F::load(blocks_of_rows(rows, block), state);
#pragma GCC unroll 4
    for (int step = 0; step < F::kBlockUnits / F::kStepUnits; ++step) {
      prefetch.step();
      __m512i halves[F::kStepUnits][2][4];
#pragma GCC unroll 4
      for (size_t j = 0; j < 4; ++j) {
        UnitCodes codes[F::kStepUnits];
        F::template codes<false>(block + j * rows.stride, 4 * rows.stride, step, codes);
#pragma GCC unroll 4
        for (int unit = 0; unit < F::kStepUnits; ++unit) {
          halves[unit][0][j] = panel_code<F, kCodes>(codes[unit].low);
          halves[unit][1][j] = panel_code<F, kCodes>(codes[unit].high);
        }
      }
#pragma GCC unroll 4
      for (int unit = 0; unit < F::kStepUnits; ++unit, out += kPanelUnitBytes<F>) {
        pack_unit<F>(halves[unit], F::scales(state, step * F::kStepUnits + unit), out);
      }
    }
  }
}

/// The mins of one unit join the chains.
template <typename F, int R, int T>
HWY_INLINE void add_mins(const uint8_t* panel, const TileUnit& tile, __m512 (&sums)[R][T]) {
  constexpr size_t kHalfBytes = kPieceUnits * kPanelUnitBytes<F>;
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r) {
    const __m512 min = _mm512_load_ps(panel + static_cast<size_t>(r) * kHalfBytes + 512 + 64 * F::kScales);
#pragma GCC unroll 6
    for (int t = 0; t < T; ++t) sums[r][t] = _mm512_fmadd_ps(min, _mm512_set1_ps(tile.d_sum[t]), sums[r][t]);
  }
}

/// One piece of R x 16 rows times a tile of T tokens: acc [R][T][16] goes on from what it holds.
template <typename F, int R, int T>
HWY_NOINLINE void multiply_tile(const uint8_t* panel, int64_t units, std::byte* x, float* acc,
                                Prefetch& prefetch) {
  constexpr int kDwords = 8 / F::kScales;
  __m512 sums[R][T];
  for (int r = 0; r < R; ++r) {
    for (int t = 0; t < T; ++t) sums[r][t] = _mm512_load_ps(acc + (r * T + t) * 16);
  }
  const size_t half_bytes = kPieceUnits * kPanelUnitBytes<F>;
  for (int64_t u = 0; u < units; ++u) {
    const TileUnit tile = tile_unit(x, T);
    prefetch.step();
#pragma GCC unroll 2
    for (int s = 0; s < F::kScales; ++s) {
      __m512i dots[R][T];
#pragma GCC unroll 6
      for (int t = 0; t < T; ++t) {
        const int32_t start = F::kScales == 1 ? tile.start[t]
                              : s == 0        ? tile.start0[t]
                                              : tile.start[t] - tile.start0[t];
        for (int r = 0; r < R; ++r) {
          dots[r][t] = F::kOffset == 0 ? _mm512_setzero_si512() : _mm512_set1_epi32(start);
        }
      }
#pragma GCC unroll 8
      for (int k = 0; k < kDwords; ++k) {
        __m512i w[R];
        for (int r = 0; r < R; ++r) {
          w[r] = _mm512_load_si512(panel + static_cast<size_t>(r) * half_bytes + (s * kDwords + k) * 64);
        }
#pragma GCC unroll 6
        for (int t = 0; t < T; ++t) {
          int32_t four;
          __builtin_memcpy(&four, tile.codes + t * kUnit + (s * kDwords + k) * 4, 4);
          const __m512i q = _mm512_set1_epi32(four);
          for (int r = 0; r < R; ++r) dots[r][t] = _mm512_dpbusd_epi32(dots[r][t], w[r], q);
        }
      }
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) {
        const __m512 scale = _mm512_load_ps(panel + static_cast<size_t>(r) * half_bytes + 512 + 64 * s);
#pragma GCC unroll 6
        for (int t = 0; t < T; ++t) {
          sums[r][t] = _mm512_fmadd_ps(_mm512_mul_ps(scale, _mm512_set1_ps(tile.d[t])),
                                       _mm512_cvtepi32_ps(dots[r][t]), sums[r][t]);
        }
      }
    }
    if constexpr (F::kHasMin) add_mins<F, R, T>(panel, tile, sums);
    panel += kPanelUnitBytes<F>;
    x += T * kTokenUnitBytes;
  }
  for (int r = 0; r < R; ++r) {
    for (int t = 0; t < T; ++t) _mm512_store_ps(acc + (r * T + t) * 16, sums[r][t]);
  }
}

}  // namespace matmul_detail
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3_DL
#endif  // include guard that toggles with each target
