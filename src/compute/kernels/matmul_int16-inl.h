// Block-quantized products without 8-bit dot products: AVX2, AVX-512 without VNNI, NEON. Codes are widened to
// 16 bits and multiplied in pairs into 32-bit sums, which is exact. Same chain as matmul_vnni-inl.h, so the
// same bits.
//
// Panel piece: 16 rows x kPieceUnits, per unit sixteen times 16 rows x 2 columns of int16, then the scales,
// then the mins.
#if defined(KVERN_COMPUTE_KERNELS_MATMUL_INT16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_COMPUTE_KERNELS_MATMUL_INT16_INL_H_
#undef KVERN_COMPUTE_KERNELS_MATMUL_INT16_INL_H_
#else
#define KVERN_COMPUTE_KERNELS_MATMUL_INT16_INL_H_
#endif

#include "hwy/highway.h"

#include "compute/kernels/matmul_activations-inl.h"
#include "compute/kernels/matmul_rows.h"
#include "compute/kernels/weights/formats.h"

#if HWY_TARGET != HWY_AVX3_DL

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace matmul_detail {

using internal::Prefetch;
using internal::RowGroup;

/// Units between two steps of the prefetch in one_token() and pack().
template <typename F>
inline constexpr int64_t kPrefetchUnits = 1;

template <typename F>
inline constexpr size_t kPanelUnitBytes = 1024 + 64 * (F::kScales + (F::kHasMin ? 1 : 0));

/// All that the multiplication of packed panels has to know about a format, so that formats share its code.
template <int kScaleCount, bool kMin>
struct PanelShape {
  static constexpr int kScales = kScaleCount;
  static constexpr bool kHasMin = kMin;
};
template <typename F>
using PanelShapeOf = PanelShape<F::kScales, F::kHasMin>;

/// Formats need no reader of their own here: the scalar definition is used.
template <typename Format, int kUnits, int kBytes>
struct ScalarFormat : Format {
  static constexpr int kBlockUnits = kUnits;
  static constexpr int kBlockBytes = kBytes;
  static constexpr int kStepUnits = 1;
};
ScalarFormat<weights::Q8_0, 1, 34> engine_format(weights::Q8_0);
ScalarFormat<weights::Q4_0, 1, 18> engine_format(weights::Q4_0);
ScalarFormat<weights::Q4_1, 1, 20> engine_format(weights::Q4_1);
ScalarFormat<weights::Q5_0, 1, 22> engine_format(weights::Q5_0);
ScalarFormat<weights::Q5_1, 1, 24> engine_format(weights::Q5_1);
ScalarFormat<weights::Q4_K, 8, 144> engine_format(weights::Q4_K);
ScalarFormat<weights::Q5_K, 8, 176> engine_format(weights::Q5_K);
ScalarFormat<weights::Q6_K, 8, 210> engine_format(weights::Q6_K);

using PairTag = hn::Repartition<int16_t, lanes::IntTag>;

/// Lane i: a[2i] * b[2i] + a[2i + 1] * b[2i + 1].
HWY_INLINE hn::Vec<lanes::IntTag> multiply_pairs(hn::Vec<PairTag> a, hn::Vec<PairTag> b) {
#if HWY_TARGET == HWY_NEON
  const int32x4_t low = vmull_s16(vget_low_s16(a.raw), vget_low_s16(b.raw));
  const int32x4_t high = vmull_high_s16(a.raw, b.raw);
  return hn::Vec<lanes::IntTag>(vpaddq_s32(low, high));
#else
  auto unused = hn::Zero(lanes::IntTag());
  return hn::ReorderWidenMulAccumulate(lanes::IntTag(), a, b, hn::Zero(lanes::IntTag()), unused);
#endif
}

template <typename F>
HWY_NOINLINE void pack(const RowGroup& rows, int64_t first, int64_t count, uint8_t* out, Prefetch& prefetch) {
  for (int64_t u = first; u < first + count; ++u, out += kPanelUnitBytes<F>) {
    prefetch.step();
    auto* pairs = reinterpret_cast<int16_t*>(out);
    auto* numbers = reinterpret_cast<float*>(out + 1024);
    for (int lane = 0; lane < 16; ++lane) {
      weights::Unit unit;
      F::unpack(rows.row(lane), u, unit);
      for (int i = 0; i < kUnit; ++i) {
        pairs[(i / 2 * 16 + lane) * 2 + i % 2] = static_cast<int16_t>(unit.codes[i] - F::kOffset);
      }
      for (int s = 0; s < F::kScales; ++s) numbers[16 * s + lane] = unit.scale[s];
      if constexpr (F::kHasMin) numbers[16 * F::kScales + lane] = unit.min;
    }
  }
}

/// A register of 16 rows times T tokens over one unit; sums [T][16].
template <typename F, int T>
HWY_INLINE void multiply_unit(const uint8_t* panel, const TileUnit& tile, size_t part, float* sums) {
  constexpr int kPairs = 16 / F::kScales;
  const PairTag dp;
  const lanes::Tag df;
  const size_t lane = part * lanes::kWidth;
  hn::Vec<lanes::Tag> acc[T];
  for (int t = 0; t < T; ++t) acc[t] = hn::Load(df, sums + t * 16 + lane);
  for (int s = 0; s < F::kScales; ++s) {
    hn::Vec<lanes::IntTag> dots[T];
    for (int t = 0; t < T; ++t) dots[t] = hn::Zero(lanes::IntTag());
    for (int k = s * kPairs; k < (s + 1) * kPairs; ++k) {
      const auto w =
          hn::Load(dp, reinterpret_cast<const int16_t*>(panel) + (k * 16 + static_cast<int>(lane)) * 2);
      for (int t = 0; t < T; ++t) {
        int32_t two;
        __builtin_memcpy(&two, tile.codes + t * kUnit + 2 * k, 4);
        const auto q = hn::BitCast(dp, hn::Set(lanes::IntTag(), two));
        dots[t] = hn::Add(dots[t], multiply_pairs(w, q));
      }
    }
    const auto scale = hn::Load(df, reinterpret_cast<const float*>(panel + 1024) + 16 * s + lane);
    for (int t = 0; t < T; ++t) {
      const auto factor = hn::Mul(scale, hn::Set(df, tile.d[t]));
      acc[t] = hn::MulAdd(factor, hn::ConvertTo(df, dots[t]), acc[t]);
    }
  }
  if constexpr (F::kHasMin) {
    const auto min = hn::Load(df, reinterpret_cast<const float*>(panel + 1024) + 16 * F::kScales + lane);
    for (int t = 0; t < T; ++t) acc[t] = hn::MulAdd(min, hn::Set(df, tile.d_sum[t]), acc[t]);
  }
  for (int t = 0; t < T; ++t) hn::Store(acc[t], df, sums + t * 16 + lane);
}

using PanelTiles = Tiling<4, 1>;

template <typename F, int R, int T>
HWY_NOINLINE void multiply_tile(const uint8_t* panel, int64_t units, std::byte* x, float* acc,
                                Prefetch& prefetch) {
  const size_t half_bytes = kPieceUnits * kPanelUnitBytes<F>;
  for (int64_t u = 0; u < units; ++u) {
    const TileUnit tile = tile_unit(x, T);
    prefetch.step();
    for (int r = 0; r < R; ++r) {
      for (size_t part = 0; part < lanes::kParts; ++part) {
        multiply_unit<F, T>(panel + static_cast<size_t>(r) * half_bytes, tile, part, acc + r * T * 16);
      }
    }
    panel += kPanelUnitBytes<F>;
    x += T * kTokenUnitBytes;
  }
}

/// Sixteen rows times one token.
template <typename F>
HWY_NOINLINE void one_token(const RowGroup& rows, int64_t units, std::byte* x, float* out,
                            Prefetch& prefetch) {
  HWY_ALIGN uint8_t panel[8 * kPanelUnitBytes<F>];
  Prefetch none;
  for (int lane = 0; lane < 16; ++lane) out[lane] = 0.0f;
  for (int64_t u = 0; u < units; u += 8) {
    const int64_t count = std::min<int64_t>(8, units - u);
    pack<F>(rows, u, count, panel, prefetch);
    multiply_tile<PanelShapeOf<F>, 1, 1>(panel, count, x + static_cast<size_t>(u) * kTokenUnitBytes, out,
                                         none);
  }
}

}  // namespace matmul_detail
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_AVX3_DL
#endif  // include guard that toggles with each target
