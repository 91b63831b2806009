#include "model/config/gemma_from_gguf.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvern::model {
namespace {

// Of files that were written before the metadata said so.
constexpr int64_t kLayersWithKeys = 20;
constexpr size_t kSparseLayers = 10;
constexpr double kUsualSparsity = 0.95;

Result<float> soft_cap(GgufFields& fields, std::string_view field, std::string_view suffix, double usual) {
  KVERN_TRY(const double cap, fields.number(field, suffix, usual));
  return static_cast<float>(cap);
}

// query_pre_attn_scalar is no metadata: it is the head size in all published models but these.
void scale_by_width(GgufFields& fields, ModelConfig& config, int64_t layers_of_27b) {
  if (config.layers != layers_of_27b || fields.find("attention.scale") != nullptr) return;
  const int64_t width = config.hidden / config.heads;
  config.attention_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(width)));
  fields.origin("attention_scale", "family");
}

Status gemma2(GgufFields& fields, ModelConfig& config) {
  KVERN_TRY(config.attention_softcap, soft_cap(fields, "attention_softcap", "attn_logit_softcapping", 50.0));
  KVERN_TRY(config.logit_softcap, soft_cap(fields, "logit_softcap", "final_logit_softcapping", 30.0));
  scale_by_width(fields, config, 46);
  return Ok{};
}

Status gemma3(GgufFields& fields, ModelConfig& config) {
  KVERN_TRY(config.attention_softcap, soft_cap(fields, "attention_softcap", "attn_logit_softcapping", 0.0));
  KVERN_TRY(config.logit_softcap, soft_cap(fields, "logit_softcap", "final_logit_softcapping", 0.0));
  config.qk_norm = true;
  scale_by_width(fields, config, 62);
  return Ok{};
}

Result<std::vector<float>> gate_cutoffs(GgufFields& fields, const ModelConfig& config) {
  constexpr std::string_view kSuffix = "activation_sparsity_scale";
  if (fields.find(kSuffix) != nullptr) {
    KVERN_TRY(auto cutoffs, fields.metadata().numbers<float>(fields.key(kSuffix)));
    KVERN_TRY_STATUS(fields.one_for_each_layer(kSuffix, cutoffs.size()));
    fields.origin("gate_cutoffs", fields.key(kSuffix));
    return cutoffs;
  }
  std::vector<float> cutoffs(static_cast<size_t>(config.layers), -std::numeric_limits<float>::infinity());
  std::fill_n(cutoffs.begin(), std::min(kSparseLayers, cutoffs.size()), gate_cutoff(kUsualSparsity));
  fields.origin("gate_cutoffs", "default");
  return cutoffs;
}

Status gemma3n(GgufFields& fields, ModelConfig& config) {
  Gemma3nConfig& parts = config.gemma3n.emplace();
  KVERN_TRY(config.logit_softcap, soft_cap(fields, "logit_softcap", "final_logit_softcapping", 30.0));
  KVERN_TRY(const double scale, fields.number("attention_scale", "attention.scale", 1.0));
  config.attention_scale = static_cast<float>(scale);
  config.qk_norm = true;
  config.v_norm = true;
  KVERN_TRY(config.shared_kv_layers, fields.integer("shared_kv_layers", "attention.shared_kv_layers",
                                                    std::max<int64_t>(0, config.layers - kLayersWithKeys)));
  KVERN_TRY(parts.streams, fields.integer("gemma3n.streams", "altup.num_inputs", 4));
  KVERN_TRY(parts.active_stream, fields.integer("gemma3n.active_stream", "altup.active_idx", 0));
  KVERN_TRY(parts.layer_embedding,
            fields.integer("gemma3n.layer_embedding", "embedding_length_per_layer_input", 256));
  KVERN_TRY(parts.layer_vocab, fields.rows("gemma3n.layer_vocab", "per_layer_token_embd.weight"));
  KVERN_TRY(parts.laurel_rank, fields.rows("gemma3n.laurel_rank", "blk.0.laurel_l.weight"));
  KVERN_TRY(parts.gate_cutoffs, gate_cutoffs(fields, config));
  return Ok{};
}

}  // namespace

Status read_gguf_gemma(GgufFields& fields, ModelConfig& config) {
  if (!is_later_gemma(config.family)) return Ok{};
  config.post_norms = true;
  fields.origin("post_norms", "family");
  if (config.family == Family::kGemma2) return gemma2(fields, config);
  if (config.family == Family::kGemma3) return gemma3(fields, config);
  return gemma3n(fields, config);
}

}  // namespace kvern::model
