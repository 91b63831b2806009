// Attention of the new tokens of a step over stored keys and values, for any codec, layout and policy.
//
// Numerics (docs/numerics.md): positions are cut into tiles at absolute multiples of kTile and spans at
// multiples of kSpan. Per query and tile of which it sees something: scores of each piece (ScoreTask),
// softmax numerators (TileSoftmax), weighted values from zero, piece after piece (AccumulateTask); tiles are
// merged in order into their span, spans in order into the row, each beginning empty (TileKernels::join,
// blend), a sink logit last. Pieces are what KvView says, cut at tiles; nothing else is read. So the bits
// depend on the query, its position and the stored vectors of its row only.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "compute/context.h"
#include "state/attend/view.h"
#include "state/layout/layout.h"

namespace kvern::state {

/// New tokens of one row: positions [first, first + tokens), which are `offset`… in the arrays of the step.
struct AttendRow {
  std::array<RowSlot, kKvForms> slots{};  ///< by KvForm
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
  /// Not 0: scaled dot products s become softcap * tanh(s / softcap).
  float softcap = 0.0F;
  /// [heads] or null: a logit for each head that takes its share of the softmax and gives nothing.
  const float* sink_logits = nullptr;
  int64_t q_stride = 0;
  int64_t out_stride = 0;
};

/// Where a layer is stored in one form.
struct AttendStore {
  const Layout* layout = nullptr;
  const LayerGeometry* geometry = nullptr;
  LayerIndex layer{};  ///< within the layout

  const SideGeometry& side(KvSide side) const { return geometry->side(side); }
};

/// What one layer of a step reads. Both forms have the same heads, sizes and rotations.
struct AttendSource {
  std::array<AttendStore, kKvForms> stores;  ///< by KvForm; the full one is null where view.mixed is false
  KvView view;
  std::span<const AttendRow> rows;

  const AttendStore& store(KvForm form) const { return stores[static_cast<size_t>(form)]; }
  /// Heads, sizes and rotations, the same in both.
  const LayerGeometry& geometry() const { return *stores[0].geometry; }
};

void attend(compute::Context& context, const AttendSource& source, const AttendArgs& args);

}  // namespace kvern::state
