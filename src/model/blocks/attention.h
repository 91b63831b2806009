// The attention of one layer: projections, norms of the heads, rope, the read of the state, the output
// matrix.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/kernels/rope.h"
#include "model/blocks/buffers.h"
#include "model/blocks/step_view.h"

namespace kvern::model {

/// Serves all layers of a model: those with a window and those without, those with keys and values of their
/// own and those that read another's. Which is which, the soft cap, the norms of the heads and the ropes are
/// the configuration's. Owns its buffers; one thread.
class AttentionBlock {
 public:
  /// `config` outlives the block. Errors: rope parameters that make no sense.
  static Result<AttentionBlock> create(const ModelConfig& config);

  /// Makes the rotations of a step: [tokens] positions. Before the first layer of each step.
  void prepare(std::span<const int64_t> positions);

  /// out [tokens, hidden] = what the layer adds to the stream for its normalised input [tokens, hidden].
  /// Appends keys and values where the layer owns them. `out` may not be `normed`.
  void run(const StepView& step, const LayerView& layer, const float* normed, float* out);

 private:
  struct Rope {
    compute::RopeTable table;
    compute::RopeAngles angles;
  };

  explicit AttentionBlock(const ModelConfig& config);
  Status add_rope(const compute::RopeConfig& rope);
  void project(const StepView& step, const LayerView& layer, const float* normed);
  void normalise(const StepView& step, const LayerWeights& layer);
  bool owns_kv(int64_t layer) const { return owners_[static_cast<size_t>(layer)] == layer; }
  const compute::RopeAngles& angles(int64_t layer) const;

  const ModelConfig* config_;
  std::vector<int64_t> owners_;  // [layers]
  std::vector<Rope> ropes_;      // of all layers, or of those without a window and those with one
  Buffer q_;                     // [tokens, heads, head_dim_k]
  Buffer k_;                     // [tokens, kv_heads, head_dim_k]
  Buffer v_;                     // [tokens, kv_heads, head_dim_v]
  Buffer attended_;              // [tokens, heads, head_dim_v]
};

}  // namespace kvern::model
