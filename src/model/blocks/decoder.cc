#include "model/blocks/decoder.h"

#include <utility>

#include "base/check.h"
#include "compute/kernels/elementwise.h"

namespace kvern::model {

DenseDecoder::DenseDecoder(const ModelConfig& config, const LoadedWeights& weights, AttentionBlock attention)
    : config_(config),
      weights_(weights),
      ends_(config, weights),
      attention_(std::move(attention)),
      feed_forward_(config) {}

Result<std::unique_ptr<Graph>> DenseDecoder::create(const ModelConfig& config, const LoadedWeights& weights) {
  KVERN_TRY(AttentionBlock attention, AttentionBlock::create(config));
  return std::unique_ptr<Graph>(new DenseDecoder(config, weights, std::move(attention)));
}

void DenseDecoder::norm(const StepView& step, const float* x, const std::vector<float>& weight,
                        float* out) const {
  compute::rms_norm(step.context, {.x = x, .out = out, .tokens = step.tokens, .n = config_.hidden},
                    norm_of(config_, weight));
}

void DenseDecoder::run_layer(const StepView& step, const LayerView& layer) {
  float* residual = residual_.data();
  float* normed = normed_.data();
  float* branch = branch_.data();
  const LayerWeights& weights = layer.weights;
  const auto add_branch = [&](const std::vector<float>& post_norm) {
    if (!post_norm.empty()) norm(step, branch, post_norm, branch);
    compute::add(step.context, step.all(residual, config_.hidden), step.all(branch, config_.hidden),
                 step.all(residual, config_.hidden));
  };
  norm(step, residual, weights.attn_norm, normed);
  attention_.run(step, layer, normed, branch);
  add_branch(weights.attn_post_norm);
  norm(step, residual, weights.ffn_norm, normed);
  feed_forward_.run(step, layer, normed, branch);
  add_branch(weights.ffn_post_norm);
}

void DenseDecoder::forward(compute::Context& context, state::KvCache& kv, const ForwardInput& input,
                           float* logits) {
  const StepView step{context, kv, input, input.step.tokens()};
  KVERN_CHECK(static_cast<size_t>(step.tokens) == input.tokens.size());
  if (step.tokens == 0) return;
  float* residual = residual_.resize(step.tokens, config_.hidden);
  float* normed = normed_.resize(step.tokens, config_.hidden);
  branch_.resize(step.tokens, config_.hidden);
  attention_.prepare(input.step.positions());
  ends_.embed(step, residual);
  for (size_t i = 0; i < weights_.layers.size() && !input.stopped(); ++i)
    run_layer(step, {weights_.layers[i], static_cast<int64_t>(i)});
  // Only the positions that somebody reads: a prompt needs its last one.
  if (input.logit_tokens.empty() || input.stopped()) return;
  gather_wanted(step, residual, config_.hidden, normed);
  ends_.write_logits(step, normed, logits);
}

}  // namespace kvern::model
