// Gemma 1: GeGLU with the tanh approximation, embeddings scaled by sqrt(hidden), norm weights stored as w - 1
// (arXiv 2403.08295; transformers, models/gemma).
#include "model/blocks/decoder.h"
#include "model/graphs/families.h"

namespace kvern::model {

Result<std::unique_ptr<Graph>> make_gemma_graph(const ModelConfig& config, const LoadedWeights& weights) {
  KVERN_TRY(compute::RopeTable rope, compute::RopeTable::create(config.rope));
  const DecoderTraits traits{.activation = activation_of(config), .embedding_scale = config.embedding_scale};
  return std::make_unique<DenseDecoder>(config, weights, std::move(rope), traits);
}

}  // namespace kvern::model
