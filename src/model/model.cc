#include "model/model.h"

#include "model/graphs/families.h"

namespace kvern::model {

Result<std::unique_ptr<Model>> Model::open(Files& files, const std::string& path, int64_t context_tokens) {
  KVERN_TRY(OpenedModel opened, open_model(files, path));
  if (context_tokens > 0) opened.config.rope.context = context_tokens;
  std::unique_ptr<Model> model(new Model(std::move(opened)));
  KVERN_TRY(model->graph_, make_graph(model->opened_.config, model->opened_.weights));
  return model;
}

state::KvSpec Model::kv_spec() const {
  const ModelConfig& c = config();
  const state::KvLayerSpec layer{.kv_heads = c.kv_heads, .k_dim = c.head_dim_k, .v_dim = c.head_dim_v};
  return {.layers = std::vector<state::KvLayerSpec>(static_cast<size_t>(c.layers), layer)};
}

int64_t Model::layer_parameters() const {
  int64_t sum = 0;
  for (const LayerWeights& layer : opened_.weights.layers) {
    for (const compute::WeightMatrix* matrix :
         {&layer.q, &layer.k, &layer.v, &layer.attn_output, &layer.gate, &layer.up, &layer.down}) {
      sum += matrix->rows * matrix->cols;
    }
  }
  return sum;
}

int64_t Model::output_parameters() const { return opened_.weights.output.rows * opened_.weights.output.cols; }

}  // namespace kvern::model
