// Attention of many queries over one decoded tile: the f32 kernels that a prefill runs. They compute exactly
// what the fused kernels of the codecs and TileKernels::blend do (the order of operations is theirs, see
// codec.h), arranged for many queries.
#pragma once

#include <cstdint>

#include "compute/cpu_target.h"
#include "state/attend/tile_kernels.h"

namespace kvern::state {

/// Floats from one dimension of transposed keys to the next. A line more than a tile: every sixteenth
/// dimension is read in a row, and with kTile floats those would all lie in the same set of the first-level
/// cache.
inline constexpr int64_t kKeyStride = kTile + 16;

/// Dot products of queries with a transposed tile of keys.
struct BlockScores {
  const float* queries = nullptr;  ///< [count, width]
  int64_t count = 0;
  int64_t width = 0;
  const float* keys = nullptr;  ///< [width, kKeyStride]
  int64_t key_count = 0;        ///< keys whose scores are wanted; scores beyond are undefined
  float* scores = nullptr;      ///< [count, kTile]
};

/// Weighted values of a tile, merged into the spans of the queries. Query q uses the first `counts[q]` values
/// only; counts do not fall with q.
struct BlockValues {
  const float* weights = nullptr;   ///< [count, kTile]
  const int32_t* counts = nullptr;  ///< [count]
  int64_t count = 0;
  int64_t width = 0;
  const float* values = nullptr;  ///< [kTile, width]
  MergeFactors factors;           ///< [count]
  float* sums = nullptr;          ///< [count, width]
};

struct BlockKernels {
  /// keys [count, width] -> [width, kKeyStride], zeros beyond count up to kTile.
  void (*transpose)(const float* keys, int64_t count, int64_t width, float* out);
  void (*scores)(const BlockScores& task);
  void (*values)(const BlockValues& task);
};

BlockKernels block_kernels(compute::CpuTarget target);

}  // namespace kvern::state
