// Llama 2 and 3 and their relatives, Mistral among them: SwiGLU, RMS norm, rotary positions, optional biases
// (Touvron et al., arXiv 2307.09288; transformers, models/llama and models/mistral).
#include "model/blocks/decoder.h"
#include "model/graphs/families.h"

namespace kvern::model {

Result<std::unique_ptr<Graph>> make_llama_graph(const ModelConfig& config, const LoadedWeights& weights) {
  KVERN_TRY(compute::RopeTable rope, compute::RopeTable::create(config.rope));
  const DecoderTraits traits{.activation = activation_of(config)};
  return std::make_unique<DenseDecoder>(config, weights, std::move(rope), traits);
}

}  // namespace kvern::model
