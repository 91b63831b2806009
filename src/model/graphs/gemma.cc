// Gemma 1: GeGLU with the tanh approximation, embeddings scaled by sqrt(hidden), norm weights stored as w - 1
// (arXiv 2403.08295; transformers, models/gemma).
#include "model/blocks/decoder.h"
#include "model/graphs/families.h"

namespace kvern::model {

Result<std::unique_ptr<Graph>> make_gemma_graph(const ModelConfig& config, const LoadedWeights& weights) {
  return DenseDecoder::create(config, weights);
}

}  // namespace kvern::model
