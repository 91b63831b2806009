// Attention of the new tokens of a step over stored keys and values, causal, for any codec and layout.
//
// Numerics (docs/numerics.md): positions are cut into tiles at absolute multiples of kTile and spans at
// multiples of kSpan. Per query and tile: dot products (ScoreTask), softmax numerators (TileSoftmax),
// weighted values from zero (AccumulateTask); tiles are merged in order into their span, spans in order into
// the row, each beginning empty (TileKernels::merge). A query sees positions up to its own and nothing else
// is read. So the bits depend on the query and on the stored vectors of its row only.
#pragma once

#include <cstdint>
#include <span>

#include "compute/context.h"
#include "state/layout/layout.h"

namespace kvern::state {

/// New tokens of one row: positions [first, first + tokens), which are `offset`… in the arrays of the step.
struct AttendRow {
  RowSlot slot{};
  int64_t first = 0;
  int64_t tokens = 0;
  int64_t offset = 0;
};

/// Queries and outputs of one layer for all tokens of a step. heads is a multiple of the layer's kv_heads;
/// consecutive query heads share a key/value head. Strides are floats from token to token, 0 = dense.
struct AttendArgs {
  const float* q = nullptr;  ///< [tokens, heads, k_dim]
  float* out = nullptr;      ///< [tokens, heads, v_dim]
  int64_t heads = 0;
  float scale = 1.0F;  ///< of the dot products, usually 1 / sqrt(k_dim)
  int64_t q_stride = 0;
  int64_t out_stride = 0;
};

/// What one layer of a step reads.
struct AttendSource {
  const Layout& layout;
  const LayerGeometry& geometry;
  LayerIndex layer{};
  std::span<const AttendRow> rows;
};

void attend(compute::Context& context, const AttendSource& source, const AttendArgs& args);

}  // namespace kvern::state
