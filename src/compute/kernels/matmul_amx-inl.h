// Block-quantized products of many tokens with AMX: a tile instruction multiplies 32 columns (or the 16 of
// one scale) of 16 tokens with those of 16 weight rows. Its integer sums are exact, and they join the chains
// of matmul_vnni-inl.h in the same order, so the bits are the same. A panel piece lies as AMX wants it
// already: a vector of dwords is a row of a tile.
//
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18 (Intel AMX).
#if defined(KVERN_COMPUTE_KERNELS_MATMUL_AMX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_COMPUTE_KERNELS_MATMUL_AMX_INL_H_
#undef KVERN_COMPUTE_KERNELS_MATMUL_AMX_INL_H_
#else
#define KVERN_COMPUTE_KERNELS_MATMUL_AMX_INL_H_
#endif

#include "hwy/highway.h"

#include <cstdint>

#include "compute/kernels/matmul_vnni-inl.h"

#if HWY_TARGET == HWY_AVX3_DL

HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni");
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace matmul_detail {
namespace amx {

/// From this many tokens on, tiles are faster than registers.
inline constexpr int64_t kLeastTokens = 16;

// Tile registers. Two shapes of sums and of activations: a tile of 16 tokens and one of 8.
inline constexpr int kSums16 = 0;
inline constexpr int kInput16 = 1;
inline constexpr int kWeights = 2;
inline constexpr int kSums8 = 3;
inline constexpr int kInput8 = 4;

/// The operand of ldtilecfg, palette 1.
struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Instructions by name: the compilers' intrinsics for them do not say that they touch memory.
template <int kRegister>
HWY_INLINE void load_tile(const void* rows, int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(rows), "r"(stride), "i"(kRegister) : "memory");
}
template <int kRegister>
HWY_INLINE void store_tile(void* rows, int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(rows), "r"(stride), "i"(kRegister) : "memory");
}
/// sums = input (signed bytes) times weights (signed bytes).
template <int kSums, int kInput>
HWY_INLINE void multiply_tiles() {
  asm volatile("tilezero %%tmm%c0\n\ttdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0"
               :
               : "i"(kSums), "i"(kInput), "i"(kWeights));
}

/// While it lives, this thread's tile registers have the shapes of a format with `scales` scales to a unit.
class TileSession {
 public:
  explicit TileSession(int scales) {
    TileShapes shapes;
    const auto set = [&](int tile, int rows, int row_bytes) {
      shapes.rows[tile] = static_cast<uint8_t>(rows);
      shapes.row_bytes[tile] = static_cast<uint16_t>(row_bytes);
    };
    set(kSums16, 16, 64);
    set(kInput16, 16, kUnit / scales);
    set(kWeights, kUnit / 4 / scales, 64);
    set(kSums8, 8, 64);
    set(kInput8, 8, kUnit / scales);
    asm volatile("ldtilecfg %0" : : "m"(shapes));
  }
  /// Without it every switch of threads would save eight kilobytes.
  ~TileSession() { asm volatile("tilerelease"); }
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;
};

/// Sums of products of T tokens and 16 rows.
template <int T>
struct alignas(64) Dots {
  int32_t sums[T][16];
};

/// Part `part` of a piece: the columns of a unit that share a scale.
template <typename F, int T>
HWY_INLINE void multiply_part(const uint8_t* panel, const std::byte* x, int64_t part, Dots<T>& dots) {
  constexpr int kSums = T == 16 ? kSums16 : kSums8;
  constexpr int kInput = T == 16 ? kInput16 : kInput8;
  const size_t unit = static_cast<size_t>(part) / F::kScales;
  const int s = static_cast<int>(part % F::kScales);
  panel += unit * kPanelUnitBytes<F>;
  x += unit * T * kTokenUnitBytes;
  load_tile<kInput>(x + s * (kUnit / F::kScales), kUnit);
  load_tile<kWeights>(panel + s * (512 / F::kScales), 64);
  multiply_tiles<kSums, kInput>();
  store_tile<kSums>(&dots, 64);
}

/// The products of part `s` join the chains, and after the last part the mins.
template <typename F, int T>
HWY_INLINE void join_part(const uint8_t* panel, const TileUnit& tile, int s, const Dots<T>& dots,
                          __m512 (&sums)[T]) {
  const __m512 scale = _mm512_load_ps(panel + 512 + 64 * s);
#pragma GCC unroll 16
  for (int t = 0; t < T; ++t) {
    sums[t] = _mm512_fmadd_ps(_mm512_mul_ps(scale, _mm512_set1_ps(tile.d[t])),
                              _mm512_cvtepi32_ps(_mm512_load_si512(dots.sums[t])), sums[t]);
  }
  if constexpr (F::kHasMin) {
    if (s + 1 < F::kScales) return;
    const __m512 min = _mm512_load_ps(panel + 512 + 64 * F::kScales);
#pragma GCC unroll 16
    for (int t = 0; t < T; ++t) sums[t] = _mm512_fmadd_ps(min, _mm512_set1_ps(tile.d_sum[t]), sums[t]);
  }
}

/// One piece of 16 rows times a tile of T tokens: acc [T][16] goes on from what it holds. Products are made
/// kAhead parts before they join, which hides the way through the tile registers.
template <typename F, int T>
HWY_NOINLINE void multiply_tile(const uint8_t* panel, int64_t units, std::byte* x, float* acc,
                                Prefetch& prefetch) {
  constexpr int64_t kAhead = 3;
  Dots<T> dots[kAhead + 1];
  __m512 sums[T];
#pragma GCC unroll 16
  for (int t = 0; t < T; ++t) sums[t] = _mm512_load_ps(acc + t * 16);
  const int64_t parts = units * F::kScales;
  const auto slot = [](int64_t part) { return static_cast<size_t>(part) % (kAhead + 1); };
  for (int64_t part = 0; part < std::min(kAhead, parts); ++part) {
    multiply_part<F, T>(panel, x, part, dots[slot(part)]);
  }
  for (int64_t part = 0; part < parts; ++part) {
    if (part + kAhead < parts) multiply_part<F, T>(panel, x, part + kAhead, dots[slot(part + kAhead)]);
    const size_t unit = static_cast<size_t>(part) / F::kScales;
    if (part % F::kScales == 0) prefetch.step();
    join_part<F, T>(panel + unit * kPanelUnitBytes<F>, tile_unit(x + unit * T * kTokenUnitBytes, T),
                    static_cast<int>(part % F::kScales), dots[slot(part)], sums);
  }
#pragma GCC unroll 16
  for (int t = 0; t < T; ++t) _mm512_store_ps(acc + t * 16, sums[t]);
}

}  // namespace amx

/// Panel kernels for matmul_quantized.cc.
struct AmxEngine {
  using Tiles = Tiling<16, 8>;
  template <typename F>
  struct Session {
    amx::TileSession shapes{F::kScales};
  };

  template <typename F>
  static void pack_group(const RowGroup& rows, int64_t first, int64_t count, uint8_t* out,
                         Prefetch& prefetch) {
    pack<F, PanelCodes::kSigned>(rows, first, count, out, prefetch);
  }

  template <typename F>
  static void multiply(int groups, int64_t tokens, const uint8_t* panel, int64_t units, std::byte* x,
                       float* acc, Prefetch& prefetch) {
    using S = PanelShape<F::kScales, F::kHasMin, false>;
    Prefetch none;
    for (int g = 0; g < groups; ++g, panel += kPieceUnits * kPanelUnitBytes<F>, acc += tokens * 16) {
      Prefetch& meanwhile = g == 0 ? prefetch : none;  // a step for each unit of the tile, not of each group
      if (tokens == 16) {
        amx::multiply_tile<S, 16>(panel, units, x, acc, meanwhile);
      } else {
        amx::multiply_tile<S, 8>(panel, units, x, acc, meanwhile);
      }
    }
  }
};

}  // namespace matmul_detail
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3_DL
#endif  // include guard that toggles with each target
