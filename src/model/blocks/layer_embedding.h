// Gemma 3n's embeddings per layer: besides the stream, each layer reads a small embedding of the token that
// is its own, made from a table and from the token's embedding.
//
// Source: Gemma3nTextModel and Gemma3nTextDecoderLayer of transformers, models/gemma3n.
#pragma once

#include <cstdint>

#include "model/blocks/buffers.h"
#include "model/blocks/step_view.h"

namespace kvern::model {

/// Serves all layers. Owns its buffers; one thread.
class LayerEmbeddingBlock {
 public:
  /// Both outlive the block; config.gemma3n is there.
  LayerEmbeddingBlock(const ModelConfig& config, const Gemma3nWeights& weights)
      : config_(config), parts_(*config.gemma3n), weights_(weights) {}

  /// Makes the embeddings of a step's tokens for all layers; `embeddings` [tokens, hidden] are the tokens'
  /// own.
  void prepare(const StepView& step, const float* embeddings);
  /// out [tokens, hidden] = what the layer adds to the streams for its active one, x [tokens, hidden].
  void run(const StepView& step, int64_t layer, const float* x, float* out);

 private:
  int64_t width() const { return config_.layers * parts_.layer_embedding; }
  void add_table(const StepView& step, float* inputs) const;

  const ModelConfig& config_;
  const Gemma3nConfig& parts_;
  const Gemma3nWeights& weights_;
  Buffer inputs_;  // [tokens, layers, layer_embedding]
  Buffer scaled_;  // [tokens, hidden]
  Buffer gate_;    // [tokens, layer_embedding]
};

}  // namespace kvern::model
