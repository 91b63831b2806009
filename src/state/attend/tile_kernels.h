// The parts of attention that do not depend on a codec: softmax of one tile of positions, and the merge of
// tiles.
#pragma once

#include <cstdint>

#include "compute/cpu_target.h"

namespace kvern::state {

/// Positions of a tile. Tiles start at absolute multiples of it; a query's last tile ends at its own
/// position.
inline constexpr int64_t kTile = 64;
/// Positions of a span: the tiles of a span are merged in order, then the spans in order. Spans are what a
/// long row is divided into for several threads.
inline constexpr int64_t kSpan = 512;

/// Softmax numerators of `queries` rows of scores over the first `count` <= kTile positions of a tile, in
/// place: s = dot * scale, max[q] = max s, weight = e^(s - max), sum[q] = sum of the weights in 16 lanes by
/// position mod 16 (ascending) and the tree of lanes-inl.h. Weights beyond count are set to 0 up to a
/// multiple of 16.
struct TileSoftmax {
  float* scores = nullptr;  ///< [queries, kTile]
  int64_t queries = 0;
  int64_t count = 0;
  float scale = 1.0F;
  float* max = nullptr;  ///< [queries]
  float* sum = nullptr;  ///< [queries]
};

/// Partial attention of `queries` queries: running maximum, sum of weights, weighted values [queries, width].
/// Empty: -infinity, 0, 0.
struct Partial {
  float* max = nullptr;
  float* sum = nullptr;
  float* values = nullptr;
};

struct TileKernels {
  void (*softmax)(const TileSoftmax& tile);
  /// into = into followed by next: M' = max(M, m), a = e^(M - M'), b = e^(m - M'), L' = fma(l, b, L a),
  /// O' = fma(o, b, O a). width is a multiple of 16.
  void (*merge)(const Partial& into, const Partial& next, int64_t queries, int64_t width);
  /// One query: out[d] = values[d] * (1 / sum) for d < dim.
  void (*finish)(const Partial& from, int64_t dim, float* out);
};

TileKernels tile_kernels(compute::CpuTarget target);

}  // namespace kvern::state
