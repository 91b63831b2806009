// The dense decoder that most families share: embedding, layers of attention and gated feed-forward on one
// residual stream, final norm, output matrix. The configuration says which norms, biases, caps and windows a
// model has; a family file names what is its own.
#pragma once

#include <memory>

#include "base/result.h"
#include "model/blocks/attention.h"
#include "model/blocks/buffers.h"
#include "model/blocks/ends.h"
#include "model/blocks/feed_forward.h"
#include "model/config/model_config.h"
#include "model/graph.h"
#include "model/weights.h"

namespace kvern::model {

/// See Graph for the contract.
class DenseDecoder : public Graph {
 public:
  /// `config` and `weights` outlive the graph. Errors: rope parameters that make no sense.
  static Result<std::unique_ptr<Graph>> create(const ModelConfig& config, const LoadedWeights& weights);
  void forward(compute::Context& context, state::KvCache& kv, const ForwardInput& input,
               float* logits) override;

 private:
  DenseDecoder(const ModelConfig& config, const LoadedWeights& weights, AttentionBlock attention);
  void run_layer(const StepView& step, const LayerView& layer);
  void norm(const StepView& step, const float* x, const std::vector<float>& weight, float* out) const;

  const ModelConfig& config_;
  const LoadedWeights& weights_;
  Ends ends_;
  AttentionBlock attention_;
  FeedForwardBlock feed_forward_;
  Buffer residual_;  // [tokens, hidden]: the stream that layers add to
  Buffer normed_;    // [tokens, hidden]
  Buffer branch_;    // [tokens, hidden]: what a block adds to the stream
};

}  // namespace kvern::model
