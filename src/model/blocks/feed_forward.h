// The gated feed-forward of one layer: down(activation(gate(x)) * up(x)).
#pragma once

#include "compute/kernels/activation.h"
#include "model/blocks/buffers.h"
#include "model/blocks/step_view.h"

namespace kvern::model {

/// The kernel for the activation that a configuration names.
compute::Activation activation_of(const ModelConfig& config);

/// Serves all layers. Gates are sparse where the configuration has cutoffs for them (Gemma 3n). Owns its
/// buffers; one thread.
class FeedForwardBlock {
 public:
  /// `config` outlives the block.
  explicit FeedForwardBlock(const ModelConfig& config) : config_(&config) {}

  /// out [tokens, hidden] = what the layer adds to the stream for its normalised input [tokens, hidden].
  /// `out` may be `normed`.
  void run(const StepView& step, const LayerView& layer, const float* normed, float* out);

 private:
  const ModelConfig* config_;
  Buffer gate_;  // [tokens, ffn]
  Buffer up_;    // [tokens, ffn]
};

}  // namespace kvern::model
