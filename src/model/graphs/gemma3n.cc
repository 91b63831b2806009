// Gemma 3n, text: Gemma 3's attention, whose last layers read keys and values of an earlier one, and its
// feed-forward with sparse gates, on several residual streams (AltUp), beside a low-rank path (LAuReL), with
// embeddings for each layer (transformers, models/gemma3n).
#include <cmath>

#include "base/check.h"
#include "compute/kernels/elementwise.h"
#include "compute/kernels/matmul.h"
#include "model/blocks/altup.h"
#include "model/blocks/attention.h"
#include "model/blocks/ends.h"
#include "model/blocks/feed_forward.h"
#include "model/blocks/layer_embedding.h"
#include "model/graphs/families.h"

namespace kvern::model {
namespace {

class Gemma3nDecoder : public Graph {
 public:
  Gemma3nDecoder(const ModelConfig& config, const LoadedWeights& weights, AttentionBlock attention)
      : config_(config),
        weights_(weights),
        ends_(config, weights),
        attention_(std::move(attention)),
        feed_forward_(config),
        altup_(config, *weights.gemma3n),
        embeddings_(config, *weights.gemma3n) {}

  void forward(compute::Context& context, state::KvCache& kv, const ForwardInput& input,
               float* logits) override;

 private:
  void run_layer(const StepView& step, const LayerView& layer);
  void laurel(const StepView& step, const LayerView& layer, const float* normed, float* out);
  void norm(const StepView& step, const float* x, const std::vector<float>& weight, float* out) const {
    compute::rms_norm(step.context, {.x = x, .out = out, .tokens = step.tokens, .n = config_.hidden},
                      norm_of(config_, weight));
  }
  void add(const StepView& step, const float* a, float* to) const {
    const auto size = static_cast<size_t>(step.tokens * config_.hidden);
    compute::add(step.context, {to, size}, {a, size}, {to, size});
  }

  const ModelConfig& config_;
  const LoadedWeights& weights_;
  Ends ends_;
  AttentionBlock attention_;
  FeedForwardBlock feed_forward_;
  AltUpBlock altup_;
  LayerEmbeddingBlock embeddings_;
  Buffer activated_;  // [tokens, hidden]: the active stream inside a layer
  Buffer normed_;     // [tokens, hidden]
  Buffer branch_;     // [tokens, hidden]
  Buffer low_rank_;   // [tokens, laurel_rank]
};

// out = x + norm(right(left(x))).
void Gemma3nDecoder::laurel(const StepView& step, const LayerView& layer, const float* normed, float* out) {
  const Gemma3nLayerWeights& weights = weights_.gemma3n->layers[static_cast<size_t>(layer.index)];
  const int64_t hidden = config_.hidden, rank = config_.gemma3n->laurel_rank;
  float* low_rank = low_rank_.resize(step.tokens, rank);
  const compute::MatmulTask left{weights.laurel_left, low_rank, rank};
  compute::matmul(step.context, {.x = normed, .tokens = step.tokens, .cols = hidden, .stride = hidden},
                  {&left, 1});
  const compute::MatmulTask right{weights.laurel_right, out, hidden};
  compute::matmul(step.context, {.x = low_rank, .tokens = step.tokens, .cols = rank, .stride = rank},
                  {&right, 1});
  norm(step, out, weights.laurel_norm, out);
  add(step, normed, out);
}

void Gemma3nDecoder::run_layer(const StepView& step, const LayerView& layer) {
  const LayerWeights& weights = layer.weights;
  float* activated = activated_.data();
  float* normed = normed_.data();
  float* branch = branch_.data();
  const float* active = altup_.predict(step, layer.index);
  norm(step, active, weights.attn_norm, normed);
  laurel(step, layer, normed, activated);
  attention_.run(step, layer, normed, branch);
  norm(step, branch, weights.attn_post_norm, branch);
  add(step, active, branch);
  add(step, branch, activated);
  compute::scale(step.context, step.all(activated, config_.hidden), 1.0F / std::sqrt(2.0F));

  norm(step, activated, weights.ffn_norm, normed);
  feed_forward_.run(step, layer, normed, branch);
  norm(step, branch, weights.ffn_post_norm, branch);
  add(step, branch, activated);

  altup_.correct(step, layer.index, activated);
  embeddings_.run(step, layer.index, altup_.active(step), branch);
  altup_.add_to_others(step, branch);
}

void Gemma3nDecoder::forward(compute::Context& context, state::KvCache& kv, const ForwardInput& input,
                             float* logits) {
  const StepView step{context, kv, input, input.step.tokens()};
  KVERN_CHECK(static_cast<size_t>(step.tokens) == input.tokens.size());
  if (step.tokens == 0) return;
  float* activated = activated_.resize(step.tokens, config_.hidden);
  normed_.resize(step.tokens, config_.hidden);
  branch_.resize(step.tokens, config_.hidden);
  attention_.prepare(input.step.positions());
  ends_.embed(step, activated);
  embeddings_.prepare(step, activated);
  altup_.begin(step, activated);
  for (size_t i = 0; i < weights_.layers.size() && !input.stopped(); ++i)
    run_layer(step, {weights_.layers[i], static_cast<int64_t>(i)});
  if (input.logit_tokens.empty() || input.stopped()) return;
  altup_.merge_wanted(step, normed_.data());
  ends_.write_logits(step, normed_.data(), logits);
}

}  // namespace

Result<std::unique_ptr<Graph>> make_gemma3n_graph(const ModelConfig& config, const LoadedWeights& weights) {
  KVERN_TRY(AttentionBlock attention, AttentionBlock::create(config));
  return std::make_unique<Gemma3nDecoder>(config, weights, std::move(attention));
}

}  // namespace kvern::model
