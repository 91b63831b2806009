// What the blocks of one forward pass share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "compute/context.h"
#include "compute/kernels/norm.h"
#include "model/config/model_config.h"
#include "model/graph.h"
#include "model/weights.h"
#include "state/sequence/kv_cache.h"

namespace kvern::model {

/// Borrowed for the pass.
struct StepView {
  compute::Context& context;
  state::KvCache& kv;
  const ForwardInput& input;
  int64_t tokens;

  /// A dense array [tokens, width].
  std::span<float> all(float* values, int64_t width) const {
    return {values, static_cast<size_t>(tokens * width)};
  }
};

/// One layer: its weights and its place in the model.
struct LayerView {
  const LayerWeights& weights;
  int64_t index = 0;
};

/// to [wanted, width] = the rows of from [tokens, width] whose logits are wanted: step.input.logit_tokens.
inline void gather_wanted(const StepView& step, const float* from, int64_t width, float* to) {
  for (const int64_t token : step.input.logit_tokens) {
    std::copy_n(from + token * width, width, to);
    to += width;
  }
}

/// An RMS norm of the model. An offset of its weights was applied when they were loaded.
inline compute::RmsNormWeights norm_of(const ModelConfig& config, const std::vector<float>& weight) {
  return {.weight = weight.data(), .eps = static_cast<float>(config.norm_eps)};
}

}  // namespace kvern::model
