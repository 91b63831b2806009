// Phi-3 and 3.5: as Llama; the fused qkv and gate_up matrices reach the graph as their parts, rotary
// positions may cover a part of each head and be scaled by LongRoPE (arXiv 2404.14219; transformers,
// models/phi3).
#include "model/blocks/decoder.h"
#include "model/graphs/families.h"

namespace kvern::model {

Result<std::unique_ptr<Graph>> make_phi3_graph(const ModelConfig& config, const LoadedWeights& weights) {
  return DenseDecoder::create(config, weights);
}

}  // namespace kvern::model
