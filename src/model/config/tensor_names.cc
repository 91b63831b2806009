#include "model/config/tensor_names.h"

#include <array>

#include <fmt/format.h>

namespace kvern::model {
namespace {

struct Names {
  std::string_view gguf;
  std::string_view hugging_face;
};

constexpr std::array<Names, 16> kNames = {{
    {"token_embd", "model.embed_tokens"},
    {"output", "lm_head"},
    {"output_norm", "model.norm"},
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_qkv", "self_attn.qkv_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    // GGUF keeps Phi-3's fused matrix under the name of its second half.
    {"ffn_up", "mlp.gate_up_proj"},
    {"ffn_down", "mlp.down_proj"},
}};

}  // namespace

std::string module_name(SourceKind source, Module module, int64_t layer) {
  const Names& names = kNames.at(static_cast<size_t>(module));
  const bool gguf = source == SourceKind::kGguf;
  const std::string_view name = gguf ? names.gguf : names.hugging_face;
  if (module < Module::kAttnNorm) return std::string(name);
  return gguf ? fmt::format("blk.{}.{}", layer, name) : fmt::format("model.layers.{}.{}", layer, name);
}

bool is_redundant_tensor(std::string_view name, const ModelConfig& config) {
  if (config.source == SourceKind::kGguf)
    return name == "rope_freqs.weight" || name == "rope_factors_long.weight" ||
           name == "rope_factors_short.weight";
  if (name.ends_with(".rotary_emb.inv_freq")) return true;
  return config.tied && name.starts_with("lm_head.");
}

}  // namespace kvern::model
