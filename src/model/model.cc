#include "model/model.h"

#include "model/graphs/families.h"

namespace kvern::model {

Result<std::unique_ptr<Model>> Model::open(Files& files, const std::string& path, int64_t context_tokens) {
  KVERN_TRY(OpenedModel opened, open_model(files, path));
  if (context_tokens > 0) {
    opened.config.rope.context = context_tokens;
    if (opened.config.local_rope) opened.config.local_rope->context = context_tokens;
  }
  std::unique_ptr<Model> model(new Model(std::move(opened)));
  KVERN_TRY(model->graph_, make_graph(model->opened_.config, model->opened_.weights));
  return model;
}

state::KvSpec Model::kv_spec() const {
  const ModelConfig& c = config();
  state::KvSpec spec;
  for (int64_t layer = 0; layer < kv_layers(c); ++layer)
    spec.layers.push_back({.kv_heads = c.kv_heads,
                           .k_dim = c.head_dim_k,
                           .v_dim = c.head_dim_v,
                           .window = is_windowed(c, layer) ? c.window->tokens : 0});
  return spec;
}

int64_t Model::layer_parameters() const {
  int64_t sum = 0;
  const auto add = [&](const auto& matrices) {
    for (const compute::WeightMatrix* matrix : matrices) sum += matrix->rows * matrix->cols;
  };
  for (const LayerWeights& layer : opened_.weights.layers) add(matrices_of(layer));
  if (opened_.weights.gemma3n) add(matrices_of(*opened_.weights.gemma3n));
  return sum;
}

int64_t Model::output_parameters() const { return opened_.weights.output.rows * opened_.weights.output.cols; }

}  // namespace kvern::model
