// Llama 2 and 3 and their relatives, Mistral among them: SwiGLU, RMS norm, rotary positions, optional biases;
// in Mistral a sliding window in every layer (Touvron et al., arXiv 2307.09288; Jiang et al., arXiv
// 2310.06825; transformers, models/llama and models/mistral).
#include "model/blocks/decoder.h"
#include "model/graphs/families.h"

namespace kvern::model {

Result<std::unique_ptr<Graph>> make_llama_graph(const ModelConfig& config, const LoadedWeights& weights) {
  return DenseDecoder::create(config, weights);
}

}  // namespace kvern::model
