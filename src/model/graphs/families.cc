#include "model/graphs/families.h"

namespace kvern::model {

Result<std::unique_ptr<Graph>> make_graph(const ModelConfig& config, const LoadedWeights& weights) {
  switch (config.family) {
    case Family::kLlama:
    case Family::kMistral:
      return make_llama_graph(config, weights);
    case Family::kQwen2:
      return make_qwen2_graph(config, weights);
    case Family::kQwen3:
      return make_qwen3_graph(config, weights);
    case Family::kPhi3:
      return make_phi3_graph(config, weights);
    case Family::kGemma:
      return make_gemma_graph(config, weights);
    case Family::kGemma2:
      return make_gemma2_graph(config, weights);
    case Family::kGemma3:
      return make_gemma3_graph(config, weights);
    case Family::kGemma3n:
      return make_gemma3n_graph(config, weights);
  }
  return fail(ErrorCode::kUnsupported, "no graph for this family", std::string(to_string(config.family)));
}

}  // namespace kvern::model
