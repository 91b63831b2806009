// The parts of attention that do not depend on a codec: softmax of one tile of positions, and the merge of
// tiles.
#pragma once

#include <cstdint>

#include "compute/cpu_target.h"
#include "state/codec/codec.h"

namespace kvern::state {

/// Positions of a span: the tiles of a span are merged in order, then the spans in order. A long row is
/// divided between threads at spans.
inline constexpr int64_t kSpan = 512;

/// One number for each query.
struct SoftmaxState {
  float* max = nullptr;  ///< largest score; -infinity before the first
  float* sum = nullptr;  ///< of e^(score - max); 0 before the first
};

/// From scores to logits: s = score * scale, then, unless softcap is 0, softcap * tanh(s / softcap).
struct Logits {
  float scale = 1.0F;
  float softcap = 0.0F;
};

/// Softmax numerators of `queries` rows of scores of the positions of a tile, in place: s = logit, max = max
/// s, weight = e^(s - max), sum = sum of the weights in 16 lanes by position mod 16 (ascending) and the tree
/// of lanes-inl.h. Row q has counts[q] >= 1 positions; a score of -infinity gets the weight 0 and never
/// counts, at least one is another. What follows the positions is not read, and is overwritten up to a
/// multiple of 16.
struct TileSoftmax {
  float* scores = nullptr;  ///< [queries, kTile]
  const int32_t* counts = nullptr;
  int64_t queries = 0;
  Logits logits;
  SoftmaxState out;
};

/// How a part continues what came before: values = fma(next, gain, values * keep).
struct MergeFactors {
  float* keep = nullptr;
  float* gain = nullptr;
};

struct TileKernels {
  void (*softmax)(const TileSoftmax& tile);
  /// into := into followed by next: M' = max(M, m), keep = e^(M - M'), gain = e^(m - M'),
  /// L' = fma(l, gain, L * keep).
  void (*join)(const SoftmaxState& into, const SoftmaxState& next, int64_t queries,
               const MergeFactors& factors);
  /// One query of `width` values, a multiple of 16: into[d] = fma(next[d], gain, into[d] * keep).
  void (*blend)(float* into, const float* next, int64_t width, float keep, float gain);
  /// One query: out[d] = values[d] * (1 / sum) for d < dim.
  void (*finish)(const float* values, float sum, int64_t dim, float* out);
};

TileKernels tile_kernels(compute::CpuTarget target);

}  // namespace kvern::state
