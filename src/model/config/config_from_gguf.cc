// Keys: docs/gguf.md of the ggml project and gguf-py/gguf/constants.py of llama.cpp.
#include "model/config/config_from_gguf.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "model/config/end_tokens.h"
#include "model/config/gemma_from_gguf.h"
#include "model/config/gguf_fields.h"
#include "model/config/tensor_values.h"
#include "model/printable.h"

namespace kvern::model {
namespace {

using compute::RopePairing;
using compute::RopeScaling;

struct Architecture {
  std::string_view name;
  Family family;
  RopePairing pairing;
};

// llama.cpp's converter reorders q and k of `llama` so that rope pairs neighbours; the others keep halves.
constexpr Architecture kArchitectures[] = {
    {"llama", Family::kLlama, RopePairing::kInterleaved},
    {"qwen2", Family::kQwen2, RopePairing::kHalfSplit},
    {"qwen3", Family::kQwen3, RopePairing::kHalfSplit},
    {"phi3", Family::kPhi3, RopePairing::kHalfSplit},
    {"gemma", Family::kGemma, RopePairing::kHalfSplit},
    {"gemma2", Family::kGemma2, RopePairing::kHalfSplit},
    {"gemma3", Family::kGemma3, RopePairing::kHalfSplit},
    {"gemma3n", Family::kGemma3n, RopePairing::kHalfSplit},
};

// Of files that were written before the metadata said so.
constexpr int64_t kGemma2Window = 4096;

// Keys that would change the computation, with the value that leaves it alone. Gemma's later families have
// soft caps.
struct NeutralKey {
  std::string_view suffix;
  double neutral;
};
constexpr NeutralKey kNeutralKeys[] = {
    {"expert_count", 0},
    {"expert_used_count", 0},
    {"attn_logit_softcapping", 0},
    {"final_logit_softcapping", 0},
    {"logit_scale", 1},
    {"embedding_scale", 1},
    {"residual_scale", 1},
    {"attention.clamp_kqv", 0},
    {"attention.max_alibi_bias", 0},
    {"attention.causal", 1},
    {"attention.temperature_length", 0},
    {"use_parallel_residual", 0},
    {"rope.scaling.yarn_log_multiplier", 0},
};

class Builder {
 public:
  Builder(const GgufFile& file, const Architecture& architecture)
      : file_(file), metadata_(file.metadata()), fields_(file, architecture.name, config_) {
    config_.family = architecture.family;
    config_.source = SourceKind::kGguf;
    config_.rope.pairing = architecture.pairing;
  }

  Result<ModelConfig> build() &&;

 private:
  std::string key(std::string_view suffix) const { return fields_.key(suffix); }
  bool has(std::string_view tensor) const { return file_.find(tensor) != nullptr; }
  std::unexpected<Error> error(ErrorCode code, std::string reason) const {
    return fields_.error(code, std::move(reason));
  }
  void origin(std::string_view field, std::string from) { fields_.origin(field, std::move(from)); }

  Status refuse_unknown_math();
  Status sizes();
  Status vocabulary();
  Status rope();
  Status rope_scaling();
  Status long_rope();
  Status local_rope();
  Status window();
  Result<std::vector<bool>> windowed_layers();
  void tensors_decide();
  void family_constants();

  ModelConfig config_;
  const GgufFile& file_;
  const GgufMetadata& metadata_;
  GgufFields fields_;
};

Status Builder::refuse_unknown_math() {
  for (const NeutralKey& entry : kNeutralKeys) {
    const std::string name = key(entry.suffix);
    const GgufValue* value = metadata_.find(name);
    const bool known = (has_score_cap(config_.family) && entry.suffix == "attn_logit_softcapping") ||
                       (is_later_gemma(config_.family) && entry.suffix == "final_logit_softcapping");
    if (value == nullptr || known) continue;
    double number = std::nan("");
    if (value->type == GgufValueType::kBool) {
      KVERN_TRY(number, metadata_.get<bool>(name));
    } else if (const auto real = metadata_.get<double>(name)) {
      number = *real;
    } else if (const auto whole = metadata_.get<int64_t>(name)) {
      number = static_cast<double>(*whole);
    }
    if (number != entry.neutral)
      return error(ErrorCode::kUnsupported, fmt::format("metadata key {} is {}: kvern does not compute that",
                                                        printable(name), gguf_value_text(*value)));
  }
  return Ok{};
}

Status Builder::sizes() {
  ModelConfig& c = config_;
  KVERN_TRY(c.layers, fields_.integer("layers", "block_count", {}));
  KVERN_TRY(c.hidden, fields_.integer("hidden", "embedding_length", {}));
  KVERN_TRY(c.context, fields_.integer("context", "context_length", {}));
  KVERN_TRY(c.ffn, fields_.uniform("ffn", "feed_forward_length", {}));
  KVERN_TRY(c.heads, fields_.uniform("heads", "attention.head_count", {}));
  KVERN_TRY(c.kv_heads, fields_.uniform("kv_heads", "attention.head_count_kv", c.heads));
  if (c.heads < 1)
    return error(ErrorCode::kCorrupt,
                 fmt::format("metadata key {} is {}", printable(key("attention.head_count")), c.heads));
  KVERN_TRY(c.head_dim_k, fields_.integer("head_dim_k", "attention.key_length", c.hidden / c.heads));
  KVERN_TRY(c.head_dim_v, fields_.integer("head_dim_v", "attention.value_length", c.hidden / c.heads));
  KVERN_TRY(c.norm_eps, fields_.number("norm_eps", "attention.layer_norm_rms_epsilon", {}));
  if (c.head_dim_k < 1) return Ok{};  // check_config says so
  KVERN_TRY(const double scale, fields_.number("attention_scale", "attention.scale",
                                               1.0 / std::sqrt(static_cast<double>(c.head_dim_k))));
  c.attention_scale = static_cast<float>(scale);
  return Ok{};
}

Status Builder::vocabulary() {
  const StoredTensor* embedding = file_.find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2)
    return error(ErrorCode::kCorrupt, "tensor 'token_embd.weight' [vocabulary, hidden] is missing");
  config_.vocab = embedding->shape[0];
  origin("vocab", "token_embd.weight");
  KVERN_TRY(const auto declared, metadata_.get_optional<int64_t>(key("vocab_size")));
  if (declared && *declared != config_.vocab)
    return error(ErrorCode::kCorrupt, fmt::format("metadata key {} is {}, but token_embd.weight has {} rows",
                                                  printable(key("vocab_size")), *declared, config_.vocab));
  if (metadata_.find("tokenizer.ggml.tokens") != nullptr) {
    KVERN_TRY(const GgufStrings tokens, metadata_.strings("tokenizer.ggml.tokens"));
    if (std::cmp_greater(tokens.size(), config_.vocab))
      return error(ErrorCode::kCorrupt, fmt::format("metadata key 'tokenizer.ggml.tokens' has {} tokens, but "
                                                    "token_embd.weight has {} rows",
                                                    tokens.size(), config_.vocab));
  }
  KVERN_TRY(config_.end_tokens, end_tokens_from_gguf(metadata_));
  origin("end_tokens", "tokenizer.ggml.*");
  return Ok{};
}

Status Builder::rope() {
  compute::RopeConfig& rope = config_.rope;
  KVERN_TRY(rope.rotary_dims,
            fields_.integer("rope.rotary_dims", "rope.dimension_count", config_.head_dim_k));
  KVERN_TRY(rope.theta, fields_.number("rope.theta", "rope.freq_base", 10000.0));
  rope.context = config_.context;
  KVERN_TRY_STATUS(rope_scaling());
  if (const StoredTensor* divisors = file_.find("rope_freqs.weight")) {
    KVERN_TRY(rope.freq_factors, f32_values(*divisors, rope.rotary_dims / 2));
    origin("rope.freq_factors", "rope_freqs.weight");
  }
  if (has("rope_factors_long.weight") || has("rope_factors_short.weight")) return long_rope();
  if (rope.scaling == RopeScaling::kLongRope)
    return error(ErrorCode::kCorrupt,
                 fmt::format("metadata key {} says longrope, but the tensors 'rope_factors_long.weight' "
                             "and 'rope_factors_short.weight' are missing",
                             printable(key("rope.scaling.type"))));
  return Ok{};
}

Status Builder::rope_scaling() {
  compute::RopeConfig& rope = config_.rope;
  KVERN_TRY(const auto type, metadata_.get_optional<std::string_view>(key("rope.scaling.type")));
  KVERN_TRY(const auto old_factor, metadata_.get_optional<double>(key("rope.scale_linear")));
  KVERN_TRY(const auto attention, metadata_.get_optional<double>(key("rope.scaling.attn_factor")));
  origin("rope.scaling", type ? key("rope.scaling.type") : "default");
  // Without a type it may be longrope's, which its tensors tell.
  if (type && (*type == "none" || *type == "linear") && attention && *attention != 1.0) {
    return error(ErrorCode::kUnsupported,
                 fmt::format("metadata key {} is {}, which kvern knows with yarn and longrope alone",
                             printable(key("rope.scaling.attn_factor")), *attention));
  }
  if (type && *type == "none") return Ok{};
  if (!type) {
    // Files without a type may have a factor: then it is linear.
    KVERN_TRY(const auto new_factor, metadata_.get_optional<double>(key("rope.scaling.factor")));
    const double factor = new_factor ? *new_factor : old_factor.value_or(1.0);
    if (factor == 1.0) return Ok{};
    rope.scaling = RopeScaling::kLinear;
    rope.factor = factor;
    origin("rope.scaling", key(new_factor ? "rope.scaling.factor" : "rope.scale_linear"));
    return Ok{};
  }
  if (*type == "linear") {
    rope.scaling = RopeScaling::kLinear;
  } else if (*type == "yarn") {
    rope.scaling = RopeScaling::kYarn;
  } else if (*type == "longrope") {
    rope.scaling = RopeScaling::kLongRope;
    return Ok{};
  } else {
    return error(ErrorCode::kUnsupported,
                 fmt::format("metadata key {} is {}; kvern knows none, linear, yarn and longrope",
                             printable(key("rope.scaling.type")), printable(*type)));
  }
  KVERN_TRY(rope.factor, fields_.number("rope.factor", "rope.scaling.factor", old_factor));
  if (rope.scaling == RopeScaling::kLinear) return Ok{};
  KVERN_TRY(rope.original_context, fields_.integer("rope.original_context",
                                                   "rope.scaling.original_context_length", config_.context));
  KVERN_TRY(rope.beta_fast, fields_.number("rope.beta_fast", "rope.scaling.yarn_beta_fast", 32.0));
  KVERN_TRY(rope.beta_slow, fields_.number("rope.beta_slow", "rope.scaling.yarn_beta_slow", 1.0));
  // llama.cpp multiplies its own derived factor by this one.
  if (attention && *attention != 1.0 && rope.factor > 0.0)
    rope.attention_factor = *attention * (0.1 * std::log(rope.factor) + 1.0);
  return Ok{};
}

Status Builder::long_rope() {
  compute::RopeConfig& rope = config_.rope;
  if (rope.scaling != RopeScaling::kNone && rope.scaling != RopeScaling::kLongRope)
    return error(ErrorCode::kCorrupt, fmt::format("metadata key {} contradicts the tensors 'rope_factors_*'",
                                                  printable(key("rope.scaling.type"))));
  rope.scaling = RopeScaling::kLongRope;
  origin("rope.scaling", "rope_factors_long.weight");
  for (const auto& [name, factors] : {std::pair("rope_factors_long.weight", &rope.long_factors),
                                      std::pair("rope_factors_short.weight", &rope.short_factors)}) {
    const StoredTensor* tensor = file_.find(name);
    if (tensor == nullptr) return error(ErrorCode::kCorrupt, fmt::format("tensor '{}' is missing", name));
    KVERN_TRY(*factors, f32_values(*tensor, rope.rotary_dims / 2));
  }
  KVERN_TRY(rope.original_context, fields_.integer("rope.original_context",
                                                   "rope.scaling.original_context_length", config_.context));
  KVERN_TRY(rope.attention_factor, fields_.number("rope.attention_factor", "rope.scaling.attn_factor", 1.0));
  if (rope.original_context > 0)
    rope.factor = static_cast<double>(config_.context) / static_cast<double>(rope.original_context);
  return Ok{};
}

// Where the windows hold when a file says no more than how wide they are.
constexpr int64_t usual_window_period(Family family) {
  switch (family) {
    case Family::kGemma2:
      return 2;
    case Family::kGemma3:
      return 6;
    case Family::kGemma3n:
      return 5;
    default:
      return 0;
  }
}

Result<std::vector<bool>> Builder::windowed_layers() {
  constexpr std::string_view kSuffix = "attention.sliding_window_pattern";
  const GgufValue* value = fields_.find(kSuffix);
  if (value != nullptr && value->type == GgufValueType::kArray) {
    KVERN_TRY(std::vector<bool> layers, metadata_.flags(key(kSuffix)));
    KVERN_TRY_STATUS(fields_.one_for_each_layer(kSuffix, layers.size()));
    origin("window.layers", key(kSuffix));
    return layers;
  }
  KVERN_TRY(const int64_t period,
            fields_.integer("window.layers", kSuffix, usual_window_period(config_.family)));
  if (period < 0)
    return error(ErrorCode::kCorrupt, fmt::format("metadata key {} is {}", printable(key(kSuffix)), period));
  std::vector<bool> layers(static_cast<size_t>(config_.layers), true);
  if (period == 0) return layers;
  // The last layer of each period sees everything.
  for (size_t i = 0; i < layers.size(); ++i)
    layers[i] = std::cmp_not_equal((i + 1) % static_cast<uint64_t>(period), 0);
  return layers;
}

Status Builder::window() {
  const bool always = config_.family == Family::kGemma2;
  KVERN_TRY(const int64_t tokens,
            fields_.integer("window", "attention.sliding_window", always ? kGemma2Window : 0));
  if (tokens < 0)
    return error(ErrorCode::kCorrupt,
                 fmt::format("metadata key {} is {}", printable(key("attention.sliding_window")), tokens));
  // Zero is how the converter writes "no window".
  if (tokens == 0) return Ok{};
  KVERN_TRY(std::vector<bool> layers, windowed_layers());
  if (std::ranges::find(layers, true) == layers.end()) return Ok{};
  config_.window = SlidingWindow{tokens, std::move(layers)};
  return local_rope();
}

// The layers with a window may have a rope of their own, which no scaling stretches in Gemma 3.
Status Builder::local_rope() {
  constexpr std::string_view kSuffix = "rope.freq_base_swa";
  const bool unscaled = config_.family == Family::kGemma3 || config_.family == Family::kGemma3n;
  if (!unscaled && fields_.find(kSuffix) == nullptr) return Ok{};
  compute::RopeConfig local = config_.rope;
  if (unscaled)
    local = {
        .pairing = config_.rope.pairing, .rotary_dims = config_.rope.rotary_dims, .context = config_.context};
  KVERN_TRY(local.theta, fields_.number("local_rope.theta", kSuffix, 10000.0));
  config_.local_rope = std::move(local);
  return Ok{};
}

void Builder::tensors_decide() {
  config_.tied = !has("output.weight");
  config_.qkv_bias = has("blk.0.attn_q.bias") || has("blk.0.attn_qkv.bias");
  config_.attention_output_bias = has("blk.0.attn_output.bias");
  config_.mlp_bias = has("blk.0.ffn_up.bias");
  config_.qk_norm = config_.family == Family::kQwen3 || has("blk.0.attn_q_norm.weight");
  for (const char* field : {"tied", "qkv_bias", "attention_output_bias", "mlp_bias", "qk_norm"})
    origin(field, "tensor directory");
}

void Builder::family_constants() {
  if (!is_gemma(config_.family)) return;
  // The converter has already added one to the norm weights.
  config_.activation = Activation::kGeluTanh;
  config_.embedding_scale = std::sqrt(static_cast<float>(config_.hidden));
}

Result<ModelConfig> Builder::build() && {
  if (const auto name = metadata_.get<std::string_view>("general.name")) config_.name = std::string(*name);
  KVERN_TRY_STATUS(refuse_unknown_math());
  KVERN_TRY_STATUS(sizes());
  KVERN_TRY_STATUS(vocabulary());
  tensors_decide();
  family_constants();
  KVERN_TRY_STATUS(rope());
  KVERN_TRY_STATUS(check_config(config_, file_.path()));
  KVERN_TRY_STATUS(window());
  KVERN_TRY_STATUS(read_gguf_gemma(fields_, config_));
  KVERN_TRY_STATUS(check_config(config_, file_.path()));
  return std::move(config_);
}

}  // namespace

Result<ModelConfig> config_from_gguf(const GgufFile& file) {
  KVERN_TRY(const std::string_view name, file.metadata().get<std::string_view>("general.architecture"));
  for (const Architecture& architecture : kArchitectures)
    if (architecture.name == name) return Builder(file, architecture).build();
  return fail(
      ErrorCode::kUnsupported,
      fmt::format("metadata key 'general.architecture' is {}; kvern runs llama, qwen2, qwen3, phi3, gemma, "
                  "gemma2, gemma3 and gemma3n",
                  printable(name)),
      file.path());
}

}  // namespace kvern::model
