// Activations of block-quantized products: each token's 32 columns of a unit become signed 8-bit codes and a
// scale.
//
//   largest = max |x|        d = largest / 127        q = round to nearest even(x * (127 / largest))
//
// so q is in [-127, 127]. A unit whose largest magnitude is below 2^-100 counts as zero; one that holds NaN
// or infinity has d = NaN, which makes every product with it NaN. The maximum is taken over the bits of |x|,
// where integer order is the order of magnitudes and NaN comes last, so it does not depend on the order of
// comparisons.
//
// Image: tokens are cut into tiles (Tiling: the last tile has the rest), units into pieces of kPieceUnits
// (likewise). The image is [piece][tile][unit of the piece], each element one TileUnit of that many tokens t:
//   codes  [t][32]  (int8 with VNNI, int16 elsewhere)
//   d      [t] f32
//   d_sum  [t] f32  d * (sum of the codes)
//   start  [t] i32  -128 * (sum of the codes): cancels an offset of 128 in the weights' unsigned codes
//   start0 [t] i32  the same for the first 16 columns only
#if defined(KVERN_COMPUTE_KERNELS_MATMUL_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_COMPUTE_KERNELS_MATMUL_ACTIVATIONS_INL_H_
#undef KVERN_COMPUTE_KERNELS_MATMUL_ACTIVATIONS_INL_H_
#else
#define KVERN_COMPUTE_KERNELS_MATMUL_ACTIVATIONS_INL_H_
#endif

#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "compute/kernels/lanes-inl.h"
#include "compute/kernels/matmul_internal.h"
#include "compute/kernels/weights/unit.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace matmul_detail {
namespace hn = hwy::HWY_NAMESPACE;

using weights::kUnit;

inline constexpr int64_t kPieceUnits = 16;
#if HWY_TARGET == HWY_AVX3_DL
using Code = int8_t;
#else
using Code = int16_t;
#endif
inline constexpr size_t kTokenUnitBytes = kUnit * sizeof(Code) + 16;

/// The arrays of one TileUnit of `tokens` tokens at `p`.
struct TileUnit {
  Code* codes;
  float* d;
  float* d_sum;
  int32_t* start;
  int32_t* start0;
};
HWY_INLINE TileUnit tile_unit(std::byte* p, int64_t tokens) {
  auto* after = p + static_cast<size_t>(tokens) * kUnit * sizeof(Code);
  auto* numbers = reinterpret_cast<float*>(after);
  auto* starts = reinterpret_cast<int32_t*>(after) + 2 * tokens;
  return {reinterpret_cast<Code*>(p), numbers, numbers + tokens, starts, starts + tokens};
}

/// Tiles of kTile tokens, a multiple of kStep. The last has the rest and, up to a multiple of kStep, tokens
/// of padding whose codes and numbers are zero.
template <int64_t kTileTokens, int64_t kStep>
struct Tiling {
  static constexpr int64_t kTile = kTileTokens;
  static_assert(kTile % kStep == 0);

  static int64_t count(int64_t tokens) { return (tokens + kTile - 1) / kTile; }
  static int64_t padded(int64_t tokens) { return (tokens + kStep - 1) / kStep * kStep; }
  /// Tokens of a tile with padding, and without.
  static int64_t size(int64_t tokens, int64_t tile) { return std::min(kTile, padded(tokens) - tile * kTile); }
  static int64_t used(int64_t tokens, int64_t tile) { return std::min(kTile, tokens - tile * kTile); }
  /// Where the units of (piece, tile) begin.
  static size_t offset(int64_t tokens, int64_t units, int64_t piece, int64_t tile) {
    const int64_t first_unit = piece * kPieceUnits;
    const int64_t piece_units = std::min(kPieceUnits, units - first_unit);
    return static_cast<size_t>(first_unit * padded(tokens) + tile * kTile * piece_units) * kTokenUnitBytes;
  }
  static size_t image_bytes(int64_t tokens, int64_t units) {
    return static_cast<size_t>(padded(tokens) * units) * kTokenUnitBytes + 64;
  }
};

/// Scales and sums of the units of one piece of a token.
struct PieceNumbers {
  HWY_ALIGN int32_t largest[kPieceUnits];  ///< bits of the largest magnitude
  HWY_ALIGN float d[kPieceUnits];
  HWY_ALIGN float inverse[kPieceUnits];
  int32_t sums[kPieceUnits][2];
};

HWY_INLINE int32_t largest_bits(const float* x) {
  const lanes::IntTag di;
  auto largest = hn::Zero(di);
  for (size_t i = 0; i < kUnit; i += lanes::kWidth) {
    largest = hn::Max(largest, hn::BitCast(di, hn::Abs(hn::LoadU(lanes::Tag(), x + i))));
  }
  return hn::GetLane(hn::MaxOfLanes(di, largest));
}

/// d and inverse of all units of a piece from their largest magnitudes; 0 and 0 for tiny ones, NaN and 0
/// where the unit is not finite.
HWY_INLINE void piece_scales(PieceNumbers& n) {
  const lanes::Tag df;
  const auto zero = hn::Zero(df);
  const auto steps = hn::Set(df, 127.0f);
  for (size_t i = 0; i < kPieceUnits; i += lanes::kWidth) {
    const auto magnitude = hn::BitCast(df, hn::Load(lanes::IntTag(), n.largest + i));
    const auto tiny = hn::Lt(magnitude, hn::Set(df, 0x1p-100f));
    // Not (magnitude < infinity) is true of NaN as well.
    const auto finite = hn::Lt(magnitude, hn::Set(df, std::numeric_limits<float>::infinity()));
    const auto d = hn::IfThenElse(tiny, zero, hn::Div(magnitude, steps));
    const auto inverse = hn::IfThenElse(tiny, zero, hn::Div(steps, magnitude));
    hn::Store(hn::IfThenElse(finite, d, hn::Set(df, std::numeric_limits<float>::quiet_NaN())), df, n.d + i);
    hn::Store(hn::IfThenElse(finite, inverse, zero), df, n.inverse + i);
  }
}

/// Writes 32 codes and the sums of the first and of the second 16.
HWY_INLINE void write_codes(const float* x, float inverse, Code* codes, int32_t sums[2]) {
  const lanes::Tag df;
  const lanes::IntTag di;
  const hn::Rebind<Code, lanes::IntTag> dc;
  const auto factor = hn::Set(df, inverse);
  // A factor of zero also has to silence NaN and infinity.
  const auto keep = hn::Set(di, inverse == 0.0f ? 0 : -1);
  for (size_t half = 0; half < 2; ++half) {
    auto sum = hn::Zero(di);
    for (size_t i = half * 16; i < half * 16 + 16; i += lanes::kWidth) {
      const auto q = hn::And(hn::NearestInt(hn::Mul(hn::LoadU(df, x + i), factor)), keep);
      sum = hn::Add(sum, q);
      hn::StoreU(hn::DemoteTo(dc, q), dc, codes + i);
    }
    sums[half] = hn::GetLane(hn::SumOfLanes(di, sum));
  }
}

/// Token `t` of the `tokens` tokens of a tile: `units` units at `x` into the TileUnits at `out`.
HWY_NOINLINE inline void quantize_piece(const float* x, int64_t units, std::byte* out, int64_t tokens,
                                        int64_t t) {
  PieceNumbers n;
  for (int64_t u = 0; u < kPieceUnits; ++u) n.largest[u] = u < units ? largest_bits(x + u * kUnit) : 0;
  piece_scales(n);
  for (int64_t u = 0; u < units; ++u) {
    const TileUnit unit = tile_unit(out + static_cast<size_t>(u * tokens) * kTokenUnitBytes, tokens);
    write_codes(x + u * kUnit, n.inverse[u], unit.codes + t * kUnit, n.sums[u]);
    const int32_t sum = n.sums[u][0] + n.sums[u][1];
    unit.d[t] = n.d[u];
    unit.d_sum[t] = n.d[u] * static_cast<float>(sum);
    unit.start[t] = -128 * sum;
    unit.start0[t] = -128 * n.sums[u][0];
  }
}

/// Makes the image of tile `tile`, all its pieces.
template <typename Tiles>
void quantize_tile(const MatmulInput& input, int64_t tile, std::byte* image) {
  const int64_t units = input.cols / kUnit;
  const int64_t size = Tiles::size(input.tokens, tile);
  const int64_t used = Tiles::used(input.tokens, tile);
  for (int64_t first = 0; first < units; first += kPieceUnits) {
    std::byte* out = image + Tiles::offset(input.tokens, units, first / kPieceUnits, tile);
    const int64_t count = std::min(kPieceUnits, units - first);
    if (used < size) std::memset(out, 0, static_cast<size_t>(count * size) * kTokenUnitBytes);
    for (int64_t t = 0; t < used; ++t) {
      const float* x = input.x + (tile * Tiles::kTile + t) * input.stride + first * kUnit;
      quantize_piece(x, count, out, size, t);
    }
  }
}

}  // namespace matmul_detail
}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
