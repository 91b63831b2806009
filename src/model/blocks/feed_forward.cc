#include "model/blocks/feed_forward.h"

#include <array>
#include <cmath>

#include "base/check.h"
#include "compute/kernels/matmul.h"
#include "model/blocks/bias.h"
#include "model/blocks/sparse_gate.h"

namespace kvern::model {

compute::Activation activation_of(const ModelConfig& config) {
  switch (config.activation) {
    case Activation::kSilu:
      return compute::Activation::kSilu;
    case Activation::kGeluTanh:
      return compute::Activation::kGeluTanh;
  }
  KVERN_CHECK(false);
}

void FeedForwardBlock::run(const StepView& step, const LayerView& layer, const float* normed, float* out) {
  const ModelConfig& c = *config_;
  const LayerWeights& weights = layer.weights;
  const int64_t tokens = step.tokens, ffn = c.ffn;
  float* gate = gate_.resize(tokens, ffn);
  float* up = up_.resize(tokens, ffn);
  const std::array<compute::MatmulTask, 2> inputs = {{{weights.gate, gate, ffn}, {weights.up, up, ffn}}};
  compute::matmul(step.context, {.x = normed, .tokens = tokens, .cols = c.hidden, .stride = c.hidden},
                  inputs);
  add_bias(step, gate, weights.gate_bias);
  add_bias(step, up, weights.up_bias);
  if (c.gemma3n) {
    const float cutoff = c.gemma3n->gate_cutoffs[static_cast<size_t>(layer.index)];
    if (std::isfinite(cutoff)) cut_gates(step.context, {.x = gate, .tokens = tokens, .n = ffn}, cutoff);
  }
  compute::glu(step.context, activation_of(c),
               {.gate = gate, .up = up, .out = gate, .tokens = tokens, .n = ffn});
  const compute::MatmulTask output{weights.down, out, c.hidden};
  compute::matmul(step.context, {.x = gate, .tokens = tokens, .cols = ffn, .stride = ffn}, {&output, 1});
  add_bias(step, out, weights.down_bias);
}

}  // namespace kvern::model
