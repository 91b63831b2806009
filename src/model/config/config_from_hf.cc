// Keys and defaults: the configuration classes of transformers (configuration_llama.py, …_mistral.py,
// …_qwen2.py, …_qwen3.py, …_phi3.py, …_gemma.py, …_gemma2.py, …_gemma3.py, …_gemma3n.py).
#include "model/config/config_from_hf.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "model/config/end_tokens.h"
#include "model/config/gemma_from_hf.h"
#include "model/config/json_fields.h"
#include "model/config/quantization.h"
#include "model/config/rope_from_hf.h"
#include "model/printable.h"

namespace kvern::model {
namespace {

constexpr uint64_t kMaxConfigBytes = uint64_t{4} << 20;

struct Architecture {
  std::string_view class_name;
  std::string_view model_type;
  Family family;
  double norm_eps;   ///< what the class assumes when the key is absent
  int64_t head_dim;  ///< likewise; 0: hidden / heads
  bool tied;         ///< likewise
};

constexpr Architecture kArchitectures[] = {
    {"LlamaForCausalLM", "llama", Family::kLlama, 1e-6, 0, false},
    {"MistralForCausalLM", "mistral", Family::kMistral, 1e-6, 0, false},
    {"Qwen2ForCausalLM", "qwen2", Family::kQwen2, 1e-6, 0, false},
    {"Qwen3ForCausalLM", "qwen3", Family::kQwen3, 1e-6, 128, false},
    {"Phi3ForCausalLM", "phi3", Family::kPhi3, 1e-5, 0, false},
    {"GemmaForCausalLM", "gemma", Family::kGemma, 1e-6, 256, true},
    {"Gemma2ForCausalLM", "gemma2", Family::kGemma2, 1e-6, 256, true},
    {"Gemma3ForCausalLM", "gemma3_text", Family::kGemma3, 1e-6, 256, true},
    {"Gemma3nForCausalLM", "gemma3n_text", Family::kGemma3n, 1e-6, 256, true},
};

// Keys of related architectures that would change the computation, with the value that leaves it alone.
struct NeutralKey {
  std::string_view key;
  double neutral;
};
constexpr NeutralKey kNeutralKeys[] = {
    {"attn_logit_softcapping", 0},
    {"final_logit_softcapping", 0},
    {"logit_scale", 1},
    {"logits_scaling", 1},
    {"embedding_multiplier", 1},
    {"residual_multiplier", 1},
    {"attention_multiplier", 1},
    {"num_local_experts", 0},
    {"num_experts", 0},
    {"query_pre_attn_scalar", -1},
    {"clip_qkv", 0},
    {"attention_chunk_size", 0},
    {"sliding_window_pattern", 0},
    {"_sliding_window_pattern", 0},
    {"no_rope_layer_interval", 0},
    {"use_bidirectional_attention", 0},
};

Result<const Architecture*> find_architecture(const JsonFields& fields) {
  KVERN_TRY(const auto classes, fields.texts("architectures"));
  KVERN_TRY(const auto type, fields.text("model_type"));
  const bool by_class = classes && !classes->empty();
  if (!by_class && !type)
    return fields.error(ErrorCode::kCorrupt, "architectures", "is missing, as is 'model_type'");
  const std::string& wanted = by_class ? classes->front() : *type;
  for (const Architecture& architecture : kArchitectures) {
    if (wanted != (by_class ? architecture.class_name : architecture.model_type)) continue;
    if (type && *type != architecture.model_type)
      return fields.error(
          ErrorCode::kCorrupt, "model_type",
          fmt::format("is {}, which contradicts {}", printable(*type), architecture.class_name));
    return &architecture;
  }
  return fields.error(
      ErrorCode::kUnsupported, by_class ? "architectures" : "model_type",
      fmt::format("{} is not supported; kvern runs LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, "
                  "Qwen3ForCausalLM, Phi3ForCausalLM, GemmaForCausalLM, Gemma2ForCausalLM, Gemma3ForCausalLM "
                  "and Gemma3nForCausalLM",
                  printable(wanted)));
}

class Builder {
 public:
  Builder(const JsonFields& fields, const Architecture& architecture)
      : fields_(fields), architecture_(architecture) {
    config_.family = architecture.family;
    config_.source = SourceKind::kHuggingFace;
  }
  Result<ModelConfig> build(const HfConfigFiles& files) &&;

 private:
  void origin(std::string_view field, std::string_view from) { config_.origins[std::string(field)] = from; }
  Result<int64_t> integer(std::string_view field, std::string_view key, std::optional<int64_t> otherwise);
  Result<bool> boolean(std::string_view field, std::string_view key, bool otherwise);
  /// As integer; a list with one value for each layer counts as that value if all are equal.
  Result<int64_t> uniform(std::string_view field, std::string_view key);

  Status refuse_unknown_math();
  Status check_dtype();
  Status sizes();
  Status head_dim();
  Status activation();
  Status biases();
  Status window();
  Status windowed_layers(int64_t tokens, std::vector<bool>& layers);
  Result<int64_t> window_period();
  int64_t usual_window() const;
  void family_constants();

  const JsonFields& fields_;
  const Architecture& architecture_;
  ModelConfig config_;
};

Result<int64_t> Builder::integer(std::string_view field, std::string_view key,
                                 std::optional<int64_t> otherwise) {
  origin(field, fields_.has(key) || !otherwise ? key : "default");
  KVERN_TRY(const auto value, fields_.integer(key));
  if (value) return *value;
  if (otherwise) return *otherwise;
  return fields_.required_integer(key);
}

Result<int64_t> Builder::uniform(std::string_view field, std::string_view key) {
  const json::value* value = fields_.find(key);
  if (value == nullptr || !value->is_array()) return integer(field, key, {});
  origin(field, key);
  KVERN_TRY(const auto values, fields_.numbers(key));
  if (std::cmp_not_equal(values->size(), config_.layers) || values->empty())
    return fields_.error(ErrorCode::kCorrupt, key,
                         fmt::format("has {} values for {} layers", values->size(), config_.layers));
  const double first = values->front();
  if (std::ranges::adjacent_find(*values, std::not_equal_to<>()) != values->end())
    return fields_.error(ErrorCode::kUnsupported, key,
                         "differs between layers; kvern runs models whose layers are alike");
  if (first != std::floor(first) || !(std::abs(first) < 0x1p53))
    return fields_.error(ErrorCode::kCorrupt, key, fmt::format("holds {}, no integer", first));
  return static_cast<int64_t>(first);
}

Result<bool> Builder::boolean(std::string_view field, std::string_view key, bool otherwise) {
  origin(field, fields_.has(key) ? key : "default");
  KVERN_TRY(const auto value, fields_.boolean(key));
  return value.value_or(otherwise);
}

Status Builder::refuse_unknown_math() {
  for (const NeutralKey& entry : kNeutralKeys) {
    if (is_gemma_key(config_.family, entry.key)) continue;
    const json::value* value = fields_.find(entry.key);
    if (value == nullptr || (value->is_bool() && value->get_bool() == (entry.neutral != 0))) continue;
    if (!value->is_bool()) {
      KVERN_TRY(const auto number, fields_.number(entry.key));
      if (*number == entry.neutral) continue;
    }
    return fields_.error(ErrorCode::kUnsupported, entry.key,
                         fmt::format("is {}: kvern does not compute that", json_excerpt(*value)));
  }
  return Ok{};
}

// The weights' own types count; these keys are only checked for saying one thing.
Status Builder::check_dtype() {
  KVERN_TRY(const auto old_name, fields_.text("torch_dtype"));
  KVERN_TRY(const auto new_name, fields_.text("dtype"));
  if (old_name && new_name && *old_name != *new_name)
    return fields_.error(
        ErrorCode::kCorrupt, "dtype",
        fmt::format("is {}, but 'torch_dtype' is {}", printable(*new_name), printable(*old_name)));
  return Ok{};
}

Status Builder::head_dim() {
  ModelConfig& c = config_;
  std::optional<int64_t> otherwise;
  if (architecture_.head_dim != 0) {
    otherwise = architecture_.head_dim;
  } else if (!fields_.has("head_dim")) {
    if (c.heads < 1 || c.hidden % c.heads != 0)
      return fields_.error(
          ErrorCode::kCorrupt, "head_dim",
          fmt::format("is missing, and {} heads do not divide a hidden size of {}", c.heads, c.hidden));
    otherwise = c.hidden / c.heads;
  }
  KVERN_TRY(c.head_dim_k, integer("head_dim_k", "head_dim", otherwise));
  c.head_dim_v = c.head_dim_k;
  origin("head_dim_v", c.origins["head_dim_k"]);
  if (c.head_dim_k < 1)
    return fields_.error(ErrorCode::kCorrupt, "head_dim", fmt::format("is {}", c.head_dim_k));
  c.attention_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(c.head_dim_k)));
  return Ok{};
}

Status Builder::sizes() {
  ModelConfig& c = config_;
  KVERN_TRY(c.layers, integer("layers", "num_hidden_layers", {}));
  KVERN_TRY(c.hidden, integer("hidden", "hidden_size", {}));
  KVERN_TRY(c.ffn, uniform("ffn", "intermediate_size"));
  KVERN_TRY(c.heads, integer("heads", "num_attention_heads", {}));
  KVERN_TRY(c.kv_heads, integer("kv_heads", "num_key_value_heads", c.heads));
  KVERN_TRY(c.vocab, integer("vocab", "vocab_size", {}));
  KVERN_TRY(c.context, integer("context", "max_position_embeddings", {}));
  KVERN_TRY(const auto eps, fields_.number("rms_norm_eps"));
  c.norm_eps = eps.value_or(architecture_.norm_eps);
  origin("norm_eps", eps ? "rms_norm_eps" : "default");
  KVERN_TRY(c.tied, boolean("tied", "tie_word_embeddings", architecture_.tied));
  return head_dim();
}

Status Builder::activation() {
  KVERN_TRY(const auto act, fields_.text("hidden_act"));
  if (!is_gemma(config_.family)) {
    origin("activation", act ? "hidden_act" : "default");
    if (act && *act != "silu" && *act != "swish")
      return fields_.error(ErrorCode::kUnsupported, "hidden_act",
                           fmt::format("{} is not supported; silu is", printable(*act)));
    return Ok{};
  }
  // Gemma's first configurations said "gelu" under hidden_act and meant the tanh form; the key
  // hidden_activation was then added and counts where it is set.
  config_.activation = Activation::kGeluTanh;
  KVERN_TRY(const auto activation, fields_.text("hidden_activation"));
  origin("activation", activation ? "hidden_activation" : "family");
  if (activation && *activation != "gelu_pytorch_tanh")
    return fields_.error(ErrorCode::kUnsupported, "hidden_activation",
                         fmt::format("{} is not supported; gelu_pytorch_tanh is", printable(*activation)));
  if (act && *act != "gelu" && *act != "gelu_pytorch_tanh")
    return fields_.error(ErrorCode::kUnsupported, "hidden_act",
                         fmt::format("{} is not supported; gelu_pytorch_tanh is", printable(*act)));
  return Ok{};
}

Status Builder::biases() {
  ModelConfig& c = config_;
  KVERN_TRY(const bool attention, boolean("qkv_bias", "attention_bias", false));
  KVERN_TRY(c.mlp_bias, boolean("mlp_bias", "mlp_bias", false));
  c.qkv_bias = attention;
  c.attention_output_bias = attention;
  origin("attention_output_bias", c.origins["qkv_bias"]);
  c.qk_norm = c.family == Family::kQwen3;
  origin("qk_norm", "family");
  if (c.family == Family::kQwen2) {
    c.qkv_bias = true;
    c.attention_output_bias = false;
    origin("qkv_bias", "family");
    origin("attention_output_bias", "family");
  }
  const bool never = c.family == Family::kPhi3 || c.family == Family::kMistral;
  if (never && attention)
    return fields_.error(ErrorCode::kUnsupported, "attention_bias", "this architecture has no such biases");
  if (c.family != Family::kLlama && c.mlp_bias)
    return fields_.error(ErrorCode::kUnsupported, "mlp_bias", "this architecture has no such biases");
  return Ok{};
}

// Where the windows hold when no layer_types are listed: in all layers but each `period`-th one.
Result<int64_t> Builder::window_period() {
  switch (config_.family) {
    case Family::kGemma2:
      return 2;
    case Family::kGemma3n:
      return 5;
    case Family::kGemma3: {
      const bool hidden_name = !fields_.has("sliding_window_pattern");
      const std::string_view key = hidden_name ? "_sliding_window_pattern" : "sliding_window_pattern";
      KVERN_TRY(const int64_t period, integer("window.layers", key, 6));
      if (period >= 1) return period;
      return fields_.error(ErrorCode::kCorrupt, key, fmt::format("is {}", period));
    }
    default:
      return std::numeric_limits<int64_t>::max();
  }
}

Status Builder::windowed_layers(int64_t tokens, std::vector<bool>& layers) {
  KVERN_TRY(const auto types, fields_.texts("layer_types"));
  const bool qwen = config_.family == Family::kQwen2 || config_.family == Family::kQwen3;
  if (!types) {
    int64_t first = 0;
    if (qwen) {
      KVERN_TRY(first, integer("window.first_layer", "max_window_layers", 28));
    }
    KVERN_TRY(const int64_t period, window_period());
    for (int64_t i = 0; i < config_.layers; ++i)
      layers[static_cast<size_t>(i)] = tokens > 0 && i >= first && (i + 1) % period != 0;
    return Ok{};
  }
  origin("window.layers", "layer_types");
  if (types->size() != layers.size())
    return fields_.error(ErrorCode::kCorrupt, "layer_types",
                         fmt::format("has {} entries for {} layers", types->size(), layers.size()));
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string& type = (*types)[i];
    if (type != "full_attention" && type != "sliding_attention")
      return fields_.error(
          ErrorCode::kUnsupported, "layer_types",
          fmt::format("{} is not supported; full_attention and sliding_attention are", printable(type)));
    layers[i] = type == "sliding_attention";
    if (layers[i] && tokens == 0)
      return fields_.error(ErrorCode::kCorrupt, "layer_types",
                           "names sliding_attention, but no 'sliding_window' is set");
  }
  return Ok{};
}

// What the configuration classes assume when the key is absent; null says that there is none.
int64_t Builder::usual_window() const {
  switch (config_.family) {
    case Family::kMistral:
    case Family::kGemma2:
    case Family::kGemma3:
      return fields_.is_null("sliding_window") ? 0 : 4096;
    case Family::kGemma3n:
      return fields_.is_null("sliding_window") ? 0 : 512;
    default:
      return 0;
  }
}

Status Builder::window() {
  const bool qwen = config_.family == Family::kQwen2 || config_.family == Family::kQwen3;
  KVERN_TRY(const auto declared, fields_.integer("sliding_window"));
  KVERN_TRY(const auto used, fields_.boolean("use_sliding_window"));
  if (declared && *declared < 1)
    return fields_.error(ErrorCode::kCorrupt, "sliding_window",
                         fmt::format("is {}; a window has at least 1 token, and null means none", *declared));
  const int64_t tokens = used.value_or(!qwen) ? declared.value_or(usual_window()) : 0;
  origin("window", declared ? "sliding_window" : "default");
  std::vector<bool> layers(static_cast<size_t>(config_.layers), false);
  KVERN_TRY_STATUS(windowed_layers(tokens, layers));
  if (std::ranges::find(layers, true) != layers.end())
    config_.window = SlidingWindow{tokens, std::move(layers)};
  return Ok{};
}

void Builder::family_constants() {
  if (!is_gemma(config_.family)) return;
  config_.norm_weight_offset = 1.0F;
  config_.embedding_scale = std::sqrt(static_cast<float>(config_.hidden));
}

Result<ModelConfig> Builder::build(const HfConfigFiles& files) && {
  KVERN_TRY(const auto name, fields_.text("_name_or_path"));
  config_.name = name.value_or("");
  KVERN_TRY_STATUS(refuse_unknown_math());
  KVERN_TRY_STATUS(check_dtype());
  KVERN_TRY_STATUS(sizes());
  KVERN_TRY_STATUS(activation());
  KVERN_TRY_STATUS(biases());
  family_constants();
  KVERN_TRY_STATUS(read_hf_rope(fields_, config_));
  KVERN_TRY_STATUS(add_end_tokens(fields_, config_.end_tokens));
  origin("end_tokens", "config.json");
  if (files.generation) {
    if (!files.generation->is_object())
      return fail(ErrorCode::kCorrupt, "not a JSON object", files.generation_path);
    const JsonFields generation(files.generation->get_object(), files.generation_path);
    KVERN_TRY_STATUS(add_end_tokens(generation, config_.end_tokens));
    origin("end_tokens", "config.json and generation_config.json");
  }
  KVERN_TRY(config_.quantization, read_quantization(fields_.raw(), fields_.path()));
  KVERN_TRY_STATUS(check_config(config_, fields_.path()));
  KVERN_TRY_STATUS(window());
  KVERN_TRY_STATUS(read_hf_gemma(fields_, config_));
  KVERN_TRY_STATUS(check_config(config_, fields_.path()));
  return std::move(config_);
}

}  // namespace

Result<HfConfigFiles> read_hf_config_files(Files& files, const std::string& folder) {
  const std::string prefix = folder.ends_with('/') ? folder : folder + '/';
  HfConfigFiles out;
  out.config_path = prefix + "config.json";
  out.generation_path = prefix + "generation_config.json";
  if (!files.exists(out.config_path)) {
    return fail(ErrorCode::kNotFound,
                "is a folder without a config.json, so no model; give a .gguf file or the folder of a model",
                folder);
  }
  KVERN_TRY(const std::string config, read_file(files, out.config_path, kMaxConfigBytes));
  KVERN_TRY(out.config, parse_json(config, out.config_path));
  if (files.exists(out.generation_path)) {
    KVERN_TRY(const std::string generation, read_file(files, out.generation_path, kMaxConfigBytes));
    KVERN_TRY(out.generation, parse_json(generation, out.generation_path));
  }
  return out;
}

Result<ModelConfig> config_from_hf(const HfConfigFiles& files) {
  if (!files.config.is_object()) return fail(ErrorCode::kCorrupt, "not a JSON object", files.config_path);
  const JsonFields fields(files.config.get_object(), files.config_path);
  KVERN_TRY(const Architecture* architecture, find_architecture(fields));
  return Builder(fields, *architecture).build(files);
}

}  // namespace kvern::model
