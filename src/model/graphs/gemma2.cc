// Gemma 2: as Gemma 1, with norms on both sides of attention and feed-forward, soft caps on scores and
// logits, a scale of its own for the scores, and a sliding window in every second layer, the first one
// included (arXiv 2408.00118; transformers, models/gemma2).
#include "model/blocks/decoder.h"
#include "model/graphs/families.h"

namespace kvern::model {

Result<std::unique_ptr<Graph>> make_gemma2_graph(const ModelConfig& config, const LoadedWeights& weights) {
  return DenseDecoder::create(config, weights);
}

}  // namespace kvern::model
