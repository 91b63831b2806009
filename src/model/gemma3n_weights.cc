#include "model/gemma3n_weights.h"

#include <utility>

#include <fmt/format.h>

#include "model/config/tensor_names.h"

namespace kvern::model {
namespace {

using compute::WeightMatrix;

class Loader {
 public:
  Loader(WeightFinder& finder, const ModelConfig& config)
      : finder_(finder), config_(config), parts_(*config.gemma3n) {}
  Result<Gemma3nWeights> load();

 private:
  std::string name(Module module) const { return module_name(config_.source, module, layer_); }
  Result<WeightMatrix> matrix(Module module, int64_t rows, int64_t cols) {
    return finder_.matrix(name(module), {rows, cols});
  }
  Result<std::vector<float>> norm(Module module, int64_t count) {
    return finder_.vector(name(module), "weight", count);
  }
  Result<std::vector<WeightMatrix>> squares(Module module);
  Status altup(Gemma3nLayerWeights& layer);
  Status side_paths(Gemma3nLayerWeights& layer);

  WeightFinder& finder_;
  const ModelConfig& config_;
  const Gemma3nConfig& parts_;
  int64_t layer_ = 0;
};

Result<std::vector<WeightMatrix>> Loader::squares(Module module) {
  const int64_t hidden = config_.hidden;
  if (config_.source == SourceKind::kGguf)
    return finder_.stack(name(module), parts_.streams - 1, {hidden, hidden});
  std::vector<WeightMatrix> matrices;
  for (int64_t i = 0; i + 1 < parts_.streams; ++i) {
    KVERN_TRY(WeightMatrix square, finder_.matrix(fmt::format("{}.{}", name(module), i), {hidden, hidden}));
    matrices.push_back(square);
  }
  return matrices;
}

Status Loader::altup(Gemma3nLayerWeights& layer) {
  const int64_t streams = parts_.streams;
  KVERN_TRY(layer.router, matrix(Module::kAltUpRouter, streams, config_.hidden));
  KVERN_TRY(layer.router_norm, norm(Module::kAltUpRouterNorm, config_.hidden));
  KVERN_TRY(layer.prediction, matrix(Module::kAltUpPrediction, streams * streams, streams));
  KVERN_TRY(layer.correction, matrix(Module::kAltUpCorrection, streams, streams));
  KVERN_TRY(layer.correction_scale, finder_.vector(name(Module::kAltUpCorrectionScale),
                                                   correction_scale_part(config_.source), config_.hidden));
  if (!parts_.scale_corrected) layer.correction_scale.clear();
  return Ok{};
}

Status Loader::side_paths(Gemma3nLayerWeights& layer) {
  KVERN_TRY(layer.laurel_left, matrix(Module::kLaurelLeft, parts_.laurel_rank, config_.hidden));
  KVERN_TRY(layer.laurel_right, matrix(Module::kLaurelRight, config_.hidden, parts_.laurel_rank));
  KVERN_TRY(layer.laurel_norm, norm(Module::kLaurelNorm, config_.hidden));
  KVERN_TRY(layer.embedding_gate, matrix(Module::kLayerGate, parts_.layer_embedding, config_.hidden));
  KVERN_TRY(layer.embedding_output, matrix(Module::kLayerOutput, config_.hidden, parts_.layer_embedding));
  KVERN_TRY(layer.embedding_norm, norm(Module::kLayerNorm, config_.hidden));
  return Ok{};
}

Result<Gemma3nWeights> Loader::load() {
  Gemma3nWeights weights;
  const int64_t width = config_.layers * parts_.layer_embedding;
  KVERN_TRY(weights.projections, squares(Module::kAltUpProjection));
  KVERN_TRY(weights.unembeddings, squares(Module::kAltUpUnembedding));
  KVERN_TRY(weights.layer_embedding, matrix(Module::kLayerEmbedding, parts_.layer_vocab, width));
  KVERN_TRY(weights.layer_projection, matrix(Module::kLayerProjection, width, config_.hidden));
  KVERN_TRY(weights.layer_projection_norm, norm(Module::kLayerProjectionNorm, parts_.layer_embedding));
  for (layer_ = 0; layer_ < config_.layers; ++layer_) {
    Gemma3nLayerWeights layer;
    KVERN_TRY_STATUS(altup(layer));
    KVERN_TRY_STATUS(side_paths(layer));
    weights.layers.push_back(std::move(layer));
  }
  return weights;
}

}  // namespace

std::vector<const WeightMatrix*> matrices_of(const Gemma3nWeights& weights) {
  std::vector<const WeightMatrix*> all = {&weights.layer_projection};
  for (const WeightMatrix& square : weights.projections) all.push_back(&square);
  for (const WeightMatrix& square : weights.unembeddings) all.push_back(&square);
  for (const Gemma3nLayerWeights& layer : weights.layers)
    all.insert(all.end(), {&layer.router, &layer.prediction, &layer.correction, &layer.laurel_left,
                           &layer.laurel_right, &layer.embedding_gate, &layer.embedding_output});
  return all;
}

Result<Gemma3nWeights> load_gemma3n_weights(WeightFinder& finder, const ModelConfig& config) {
  return Loader(finder, config).load();
}

}  // namespace kvern::model
