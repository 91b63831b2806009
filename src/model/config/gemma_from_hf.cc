#include "model/config/gemma_from_hf.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace kvern::model {
namespace {

constexpr std::string_view kGemmaKeys[] = {
    "final_logit_softcapping",
    "query_pre_attn_scalar",
    "_sliding_window_pattern",
    "sliding_window_pattern",
};

// Sparsities that configuration_gemma3n.py assumes: the first layers of a deep model.
constexpr int64_t kSparseLayers = 10;
constexpr double kUsualSparsity = 0.95;

class Reader {
 public:
  Reader(const JsonFields& fields, ModelConfig& config) : fields_(fields), config_(config) {}
  Status gemma2();
  Status gemma3();
  Status gemma3n();

 private:
  void origin(std::string_view field, std::string_view key) {
    config_.origins[std::string(field)] = fields_.has(key) ? key : "default";
  }
  /// `null` says that there is none; an absent key, `usual`.
  Status soft_cap(float& cap, std::string_view key, double usual);
  Status attention_scale();
  Status integer(int64_t& value, std::string_view key, int64_t usual);
  Status gate_cutoffs(Gemma3nConfig& parts);

  const JsonFields& fields_;
  ModelConfig& config_;
};

Status Reader::soft_cap(float& cap, std::string_view key, double usual) {
  KVERN_TRY(const auto value, fields_.number(key));
  cap = static_cast<float>(value.value_or(fields_.is_null(key) ? 0.0 : usual));
  origin(&cap == &config_.logit_softcap ? "logit_softcap" : "attention_softcap", key);
  return Ok{};
}

Status Reader::attention_scale() {
  constexpr std::string_view kKey = "query_pre_attn_scalar";
  KVERN_TRY(const auto scalar, fields_.number(kKey));
  const double under = scalar.value_or(256.0);
  if (!(under > 0.0))
    return fields_.error(ErrorCode::kCorrupt, kKey, fmt::format("is {}; it must be positive", under));
  config_.attention_scale = static_cast<float>(1.0 / std::sqrt(under));
  origin("attention_scale", kKey);
  return Ok{};
}

Status Reader::integer(int64_t& value, std::string_view key, int64_t usual) {
  KVERN_TRY(const auto number, fields_.integer(key));
  value = number.value_or(usual);
  origin(key, key);
  return Ok{};
}

Status Reader::gemma2() {
  KVERN_TRY_STATUS(soft_cap(config_.attention_softcap, "attn_logit_softcapping", 50.0));
  KVERN_TRY_STATUS(soft_cap(config_.logit_softcap, "final_logit_softcapping", 30.0));
  return attention_scale();
}

Status Reader::gemma3() {
  KVERN_TRY_STATUS(soft_cap(config_.attention_softcap, "attn_logit_softcapping", 0.0));
  KVERN_TRY_STATUS(soft_cap(config_.logit_softcap, "final_logit_softcapping", 0.0));
  config_.qk_norm = true;
  return attention_scale();
}

Status Reader::gate_cutoffs(Gemma3nConfig& parts) {
  constexpr std::string_view kKey = "activation_sparsity_pattern";
  std::vector<double> sparsities(static_cast<size_t>(config_.layers), 0.0);
  if (config_.layers > kSparseLayers) std::fill_n(sparsities.begin(), kSparseLayers, kUsualSparsity);
  origin("gate_cutoffs", kKey);
  if (fields_.has(kKey)) {
    KVERN_TRY(const auto listed, fields_.numbers(kKey));
    sparsities = *listed;
  }
  for (const double sparsity : sparsities) {
    if (!(sparsity >= 0.0 && sparsity < 1.0))
      return fields_.error(ErrorCode::kCorrupt, kKey, fmt::format("holds {}; it lies in [0, 1)", sparsity));
    parts.gate_cutoffs.push_back(gate_cutoff(sparsity));
  }
  return Ok{};
}

Status Reader::gemma3n() {
  Gemma3nConfig& parts = config_.gemma3n.emplace();
  KVERN_TRY_STATUS(soft_cap(config_.logit_softcap, "final_logit_softcapping", 30.0));
  config_.attention_scale = 1.0F;
  config_.origins["attention_scale"] = "family";
  config_.qk_norm = true;
  config_.v_norm = true;
  config_.norm_weight_offset = 0.0F;
  KVERN_TRY_STATUS(integer(config_.shared_kv_layers, "num_kv_shared_layers", 15));
  KVERN_TRY_STATUS(integer(parts.streams, "altup_num_inputs", 4));
  KVERN_TRY_STATUS(integer(parts.active_stream, "altup_active_idx", 0));
  KVERN_TRY_STATUS(integer(parts.laurel_rank, "laurel_rank", 64));
  KVERN_TRY_STATUS(integer(parts.layer_embedding, "hidden_size_per_layer_input", 256));
  KVERN_TRY_STATUS(integer(parts.layer_vocab, "vocab_size_per_layer_input", 262144));
  KVERN_TRY(const auto scaled, fields_.boolean("altup_correct_scale"));
  parts.scale_corrected = scaled.value_or(true);
  return gate_cutoffs(parts);
}

}  // namespace

bool is_gemma_key(Family family, std::string_view key) {
  if (key == "attn_logit_softcapping") return has_score_cap(family);
  return is_later_gemma(family) && std::ranges::find(kGemmaKeys, key) != std::end(kGemmaKeys);
}

Status read_hf_gemma(const JsonFields& fields, ModelConfig& config) {
  if (!is_later_gemma(config.family)) return Ok{};
  config.post_norms = true;
  config.origins["post_norms"] = "family";
  Reader reader(fields, config);
  if (config.family == Family::kGemma2) return reader.gemma2();
  if (config.family == Family::kGemma3) return reader.gemma3();
  return reader.gemma3n();
}

}  // namespace kvern::model
