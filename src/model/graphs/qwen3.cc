// Qwen 3, dense: as Llama, with an RMS norm over each head of q and k before rope (arXiv 2505.09388;
// transformers, models/qwen3).
#include "model/blocks/decoder.h"
#include "model/graphs/families.h"

namespace kvern::model {

Result<std::unique_ptr<Graph>> make_qwen3_graph(const ModelConfig& config, const LoadedWeights& weights) {
  return DenseDecoder::create(config, weights);
}

}  // namespace kvern::model
