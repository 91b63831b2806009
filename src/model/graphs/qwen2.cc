// Qwen 2 and 2.5: as Llama, with biases on q, k and v (arXiv 2407.10671; transformers, models/qwen2). Biases
// are applied wherever the weights have them.
#include "model/blocks/decoder.h"
#include "model/graphs/families.h"

namespace kvern::model {

Result<std::unique_ptr<Graph>> make_qwen2_graph(const ModelConfig& config, const LoadedWeights& weights) {
  return DenseDecoder::create(config, weights);
}

}  // namespace kvern::model
