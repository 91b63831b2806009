#include "model/config/tensor_names.h"

#include <array>
#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace kvern::model {
namespace {

struct Names {
  std::string_view gguf;
  std::string_view hugging_face;
};

constexpr std::array<Names, 35> kNames = {{
    {"token_embd", "model.embed_tokens"},
    {"output", "lm_head"},
    {"output_norm", "model.norm"},
    {"per_layer_token_embd", "model.embed_tokens_per_layer"},
    {"per_layer_model_proj", "model.per_layer_model_projection"},
    {"per_layer_proj_norm", "model.per_layer_projection_norm"},
    {"altup_proj", "model.altup_projections"},
    {"altup_unembd_proj", "model.altup_unembed_projections"},
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_qkv", "self_attn.qkv_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    // GGUF keeps Phi-3's fused matrix under the name of its second half.
    {"ffn_up", "mlp.gate_up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"inp_gate", "per_layer_input_gate"},
    {"proj", "per_layer_projection"},
    {"post_norm", "post_per_layer_input_norm"},
    {"altup_correct_coef", "altup.correction_coefs"},
    {"altup_correct_scale", "altup"},
    {"altup_predict_coef", "altup.prediction_coefs"},
    {"altup_router", "altup.modality_router"},
    {"altup_router_norm", "altup.router_norm"},
    {"laurel_l", "laurel.linear_left"},
    {"laurel_r", "laurel.linear_right"},
    {"laurel_post_norm", "laurel.post_laurel_norm"},
}};

// Whether the tensor belongs to the keys or values of a layer that has none of its own.
bool is_of_shared_layer(std::string_view name, const ModelConfig& config) {
  const std::string_view prefix = config.source == SourceKind::kGguf ? "blk." : "model.layers.";
  if (!name.starts_with(prefix)) return false;
  int64_t layer = 0;
  const char* end = name.data() + name.size();
  if (std::from_chars(name.data() + prefix.size(), end, layer).ec != std::errc()) return false;
  if (layer < kv_layers(config) || layer >= config.layers) return false;
  for (const Module module : {Module::kAttnK, Module::kAttnV, Module::kAttnKNorm})
    if (name.starts_with(module_name(config.source, module, layer) + '.')) return true;
  return false;
}

}  // namespace

std::string_view correction_scale_part(SourceKind source) {
  return source == SourceKind::kGguf ? "weight" : "correct_output_scale";
}

std::string module_name(SourceKind source, Module module, int64_t layer) {
  const Names& names = kNames.at(static_cast<size_t>(module));
  const bool gguf = source == SourceKind::kGguf;
  const std::string_view name = gguf ? names.gguf : names.hugging_face;
  if (module < Module::kAttnNorm) return std::string(name);
  return gguf ? fmt::format("blk.{}.{}", layer, name) : fmt::format("model.layers.{}.{}", layer, name);
}

bool is_redundant_tensor(std::string_view name, const ModelConfig& config) {
  if (is_of_shared_layer(name, config)) return true;
  if (config.source == SourceKind::kGguf)
    return name == "rope_freqs.weight" || name == "rope_factors_long.weight" ||
           name == "rope_factors_short.weight";
  if (name.ends_with(".rotary_emb.inv_freq")) return true;
  return config.tied && name.starts_with("lm_head.");
}

}  // namespace kvern::model
