// AltUp: several residual streams, of which attention and feed-forward read one. A layer begins with a
// prediction of all streams and ends with their correction by what the active one became.
//
// Sources: Baykal et al., arXiv 2301.13310; Gemma3nTextAltUp of transformers, models/gemma3n. Stream i of the
// result is stream i plus a mix of all, or plus the active stream's innovation, with coefficients that each
// token makes from its own active stream: so a token's bits depend on that token only.
#pragma once

#include <cstdint>
#include <vector>

#include "model/blocks/buffers.h"
#include "model/blocks/step_view.h"

namespace kvern::model {

/// Serves all layers. Owns the streams and its buffers; one thread. Arrays are [tokens, hidden] unless said.
class AltUpBlock {
 public:
  /// Both outlive the block; config.gemma3n is there.
  AltUpBlock(const ModelConfig& config, const Gemma3nWeights& weights)
      : config_(config), parts_(*config.gemma3n), weights_(weights) {}

  /// Makes the streams of a step's tokens from their embeddings.
  void begin(const StepView& step, const float* embeddings);
  /// Predicts the streams after a layer and returns the active one, valid until correct().
  const float* predict(const StepView& step, int64_t layer);
  /// Ends the layer, whose active stream became `activated`.
  void correct(const StepView& step, int64_t layer, const float* activated);
  const float* active(const StepView& step) { return stream(step, parts_.active_stream); }
  /// Adds to all streams but the first.
  void add_to_others(const StepView& step, const float* branch);
  /// rows [wanted, hidden] = what the streams of the wanted tokens are together.
  void merge_wanted(const StepView& step, float* rows);

 private:
  float* stream(const StepView& step, int64_t i) {
    return streams_.data() + i * step.tokens * config_.hidden;
  }
  const float* mix(const StepView& step, int64_t layer, const float* x, const compute::WeightMatrix& weight);

  const ModelConfig& config_;
  const Gemma3nConfig& parts_;
  const Gemma3nWeights& weights_;
  Buffer streams_;       // [streams, tokens, hidden]
  Buffer predictions_;   // [streams, tokens, hidden]
  Buffer normed_;        // [tokens, hidden]
  Buffer projected_;     // [wanted, hidden]
  Buffer modalities_;    // [tokens, streams]
  Buffer coefficients_;  // [tokens, streams * streams], or [tokens, streams]
};

}  // namespace kvern::model
