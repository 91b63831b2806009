#include "model/weights.h"

#include <utility>

#include "model/config/tensor_names.h"
#include "model/weight_finder.h"

namespace kvern::model {
namespace {

using compute::WeightMatrix;

// Loads one layer after the other with the same finder.
class Loader {
 public:
  Loader(const TensorSource& source, const ModelConfig& config) : config_(config), finder_(source, config) {}
  Result<LoadedWeights> load();

 private:
  std::string name(Module module) const { return module_name(config_.source, module, layer_); }
  Result<WeightMatrix> matrix(Module module, int64_t rows, int64_t cols) {
    return finder_.matrix(name(module), {rows, cols});
  }
  Result<std::vector<float>> bias(Module module, int64_t count) {
    return finder_.vector(name(module), "bias", count);
  }
  Result<std::vector<float>> norm(Module module, int64_t count);

  Status attention(LayerWeights& layer);
  Status fused_qkv(LayerWeights& layer);
  Status separate_qkv(LayerWeights& layer);
  Status mlp(LayerWeights& layer);
  Status mlp_biases(LayerWeights& layer);
  bool fused_gate_up() const;
  bool owns_kv() const { return layer_ < kv_layers(config_); }

  int64_t q_rows() const { return config_.heads * config_.head_dim_k; }
  int64_t k_rows() const { return config_.kv_heads * config_.head_dim_k; }
  int64_t v_rows() const { return config_.kv_heads * config_.head_dim_v; }

  const ModelConfig& config_;
  WeightFinder finder_;
  int64_t layer_ = 0;
};

Result<std::vector<float>> Loader::norm(Module module, int64_t count) {
  KVERN_TRY(auto values, finder_.vector(name(module), "weight", count));
  for (float& value : values) value += config_.norm_weight_offset;
  return values;
}

Status Loader::separate_qkv(LayerWeights& layer) {
  KVERN_TRY(layer.q, matrix(Module::kAttnQ, q_rows(), config_.hidden));
  if (config_.qkv_bias) {
    KVERN_TRY(layer.q_bias, bias(Module::kAttnQ, q_rows()));
  }
  if (!owns_kv()) return Ok{};
  KVERN_TRY(layer.k, matrix(Module::kAttnK, k_rows(), config_.hidden));
  KVERN_TRY(layer.v, matrix(Module::kAttnV, v_rows(), config_.hidden));
  if (!config_.qkv_bias) return Ok{};
  KVERN_TRY(layer.k_bias, bias(Module::kAttnK, k_rows()));
  KVERN_TRY(layer.v_bias, bias(Module::kAttnV, v_rows()));
  return Ok{};
}

Status Loader::fused_qkv(LayerWeights& layer) {
  KVERN_TRY(const WeightMatrix fused,
            matrix(Module::kAttnQkv, q_rows() + k_rows() + v_rows(), config_.hidden));
  layer.q = rows_of(fused, 0, q_rows());
  layer.k = rows_of(fused, q_rows(), k_rows());
  layer.v = rows_of(fused, q_rows() + k_rows(), v_rows());
  if (!config_.qkv_bias) return Ok{};
  KVERN_TRY(const auto all, bias(Module::kAttnQkv, q_rows() + k_rows() + v_rows()));
  layer.q_bias.assign(all.begin(), all.begin() + q_rows());
  layer.k_bias.assign(all.begin() + q_rows(), all.begin() + q_rows() + k_rows());
  layer.v_bias.assign(all.begin() + q_rows() + k_rows(), all.end());
  return Ok{};
}

Status Loader::attention(LayerWeights& layer) {
  KVERN_TRY(layer.attn_norm, norm(Module::kAttnNorm, config_.hidden));
  const bool fused = finder_.has_module(name(Module::kAttnQkv));
  KVERN_TRY_STATUS(fused ? fused_qkv(layer) : separate_qkv(layer));
  KVERN_TRY(layer.attn_output,
            matrix(Module::kAttnOutput, config_.hidden, config_.heads * config_.head_dim_v));
  if (config_.attention_output_bias) {
    KVERN_TRY(layer.attn_output_bias, bias(Module::kAttnOutput, config_.hidden));
  }
  if (config_.qk_norm) {
    KVERN_TRY(layer.q_norm, norm(Module::kAttnQNorm, config_.head_dim_k));
    if (owns_kv()) {
      KVERN_TRY(layer.k_norm, norm(Module::kAttnKNorm, config_.head_dim_k));
    }
  }
  if (config_.post_norms) {
    KVERN_TRY(layer.attn_post_norm, norm(Module::kPostAttnNorm, config_.hidden));
  }
  return Ok{};
}

// In GGUF both forms share the name of the second part, so that the absence of the first one tells.
bool Loader::fused_gate_up() const {
  if (config_.source == SourceKind::kGguf)
    return config_.family == Family::kPhi3 && !finder_.has_module(name(Module::kFfnGate));
  return finder_.has_module(name(Module::kFfnGateUp));
}

Status Loader::mlp(LayerWeights& layer) {
  KVERN_TRY(layer.ffn_norm,
            norm(config_.post_norms ? Module::kPreFfnNorm : Module::kFfnNorm, config_.hidden));
  if (config_.post_norms) {
    KVERN_TRY(layer.ffn_post_norm, norm(Module::kPostFfnNorm, config_.hidden));
  }
  if (fused_gate_up()) {
    KVERN_TRY(const WeightMatrix fused, matrix(Module::kFfnGateUp, 2 * config_.ffn, config_.hidden));
    layer.gate = rows_of(fused, 0, config_.ffn);
    layer.up = rows_of(fused, config_.ffn, config_.ffn);
  } else {
    KVERN_TRY(layer.gate, matrix(Module::kFfnGate, config_.ffn, config_.hidden));
    KVERN_TRY(layer.up, matrix(Module::kFfnUp, config_.ffn, config_.hidden));
  }
  KVERN_TRY(layer.down, matrix(Module::kFfnDown, config_.hidden, config_.ffn));
  return config_.mlp_bias ? mlp_biases(layer) : Status(Ok{});
}

Status Loader::mlp_biases(LayerWeights& layer) {
  KVERN_TRY(layer.gate_bias, bias(Module::kFfnGate, config_.ffn));
  KVERN_TRY(layer.up_bias, bias(Module::kFfnUp, config_.ffn));
  KVERN_TRY(layer.down_bias, bias(Module::kFfnDown, config_.hidden));
  return Ok{};
}

Result<LoadedWeights> Loader::load() {
  LoadedWeights weights;
  KVERN_TRY(weights.token_embedding, matrix(Module::kTokenEmbedding, config_.vocab, config_.hidden));
  weights.output = weights.token_embedding;
  if (!config_.tied) {
    KVERN_TRY(weights.output, matrix(Module::kOutput, config_.vocab, config_.hidden));
  }
  KVERN_TRY(weights.output_norm, norm(Module::kOutputNorm, config_.hidden));
  weights.bytes_per_token = stored_bytes(weights.output);
  for (layer_ = 0; layer_ < config_.layers; ++layer_) {
    LayerWeights layer;
    KVERN_TRY_STATUS(attention(layer));
    KVERN_TRY_STATUS(mlp(layer));
    for (const WeightMatrix* matrix : matrices_of(layer)) weights.bytes_per_token += stored_bytes(*matrix);
    weights.layers.push_back(std::move(layer));
  }
  if (config_.gemma3n) {
    KVERN_TRY(weights.gemma3n, load_gemma3n_weights(finder_, config_));
    for (const WeightMatrix* matrix : matrices_of(*weights.gemma3n))
      weights.bytes_per_token += stored_bytes(*matrix);
  }
  KVERN_TRY_STATUS(finder_.check_all_used());
  return weights;
}

}  // namespace

std::array<const WeightMatrix*, 7> matrices_of(const LayerWeights& layer) {
  return {&layer.q, &layer.k, &layer.v, &layer.attn_output, &layer.gate, &layer.up, &layer.down};
}

Result<LoadedWeights> load_weights(const TensorSource& source, const ModelConfig& config) {
  return Loader(source, config).load();
}

}  // namespace kvern::model
