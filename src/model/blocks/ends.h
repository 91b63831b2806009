// The two ends of a decoder: token embeddings, and logits of the tokens that somebody reads.
#pragma once

#include <span>

#include "model/blocks/step_view.h"

namespace kvern::model {

/// Borrows configuration and weights, which outlive it.
class Ends {
 public:
  Ends(const ModelConfig& config, const LoadedWeights& weights) : config_(config), weights_(weights) {}

  /// out [tokens, hidden] = the tokens' embeddings, scaled as the configuration says.
  void embed(const StepView& step, float* out) const;

  /// logits [wanted, vocab] = the output matrix over the final norm of rows [wanted, hidden], soft-capped
  /// where the model does so. Overwrites `rows`.
  void write_logits(const StepView& step, float* rows, float* logits) const;

 private:
  const ModelConfig& config_;
  const LoadedWeights& weights_;
};

}  // namespace kvern::model
