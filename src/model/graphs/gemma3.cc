// Gemma 3, text: as Gemma 2 with an RMS norm over each head of q and k in place of the soft caps, five layers
// with a window for each without, and a rope base of its own in those with a window (arXiv 2503.19786;
// transformers, models/gemma3).
#include "model/blocks/decoder.h"
#include "model/graphs/families.h"

namespace kvern::model {

Result<std::unique_ptr<Graph>> make_gemma3_graph(const ModelConfig& config, const LoadedWeights& weights) {
  return DenseDecoder::create(config, weights);
}

}  // namespace kvern::model
