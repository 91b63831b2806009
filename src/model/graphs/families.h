// The graphs of all families. One file each; a new family is a file and a line in make_graph.
#pragma once

#include <memory>

#include "base/result.h"
#include "model/config/model_config.h"
#include "model/graph.h"
#include "model/weights.h"

namespace kvern::model {

/// `config` and `weights` outlive the graph. Errors: rope parameters that make no sense.
Result<std::unique_ptr<Graph>> make_graph(const ModelConfig& config, const LoadedWeights& weights);

Result<std::unique_ptr<Graph>> make_llama_graph(const ModelConfig& config, const LoadedWeights& weights);
Result<std::unique_ptr<Graph>> make_qwen2_graph(const ModelConfig& config, const LoadedWeights& weights);
Result<std::unique_ptr<Graph>> make_qwen3_graph(const ModelConfig& config, const LoadedWeights& weights);
Result<std::unique_ptr<Graph>> make_phi3_graph(const ModelConfig& config, const LoadedWeights& weights);
Result<std::unique_ptr<Graph>> make_gemma_graph(const ModelConfig& config, const LoadedWeights& weights);
Result<std::unique_ptr<Graph>> make_gemma2_graph(const ModelConfig& config, const LoadedWeights& weights);
Result<std::unique_ptr<Graph>> make_gemma3_graph(const ModelConfig& config, const LoadedWeights& weights);
Result<std::unique_ptr<Graph>> make_gemma3n_graph(const ModelConfig& config, const LoadedWeights& weights);

}  // namespace kvern::model
