#include "model/config/rope_from_hf.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "model/printable.h"

namespace kvern::model {
namespace {

using compute::RopeConfig;
using compute::RopeScaling;

constexpr std::string_view kOriginalContext = "original_max_position_embeddings";

// Everything that a scaling object may hold; another key could change the angles, so it is refused.
constexpr std::string_view kKnownKeys[] = {
    "type",
    "rope_type",
    "rope_theta",
    "partial_rotary_factor",
    "factor",
    "low_freq_factor",
    "high_freq_factor",
    "beta_fast",
    "beta_slow",
    "mscale",
    "mscale_all_dim",
    "truncate",
    "attention_factor",
    "short_factor",
    "long_factor",
    kOriginalContext,
};

// A value that may stand in config.json itself, in the scaling object, or in both if they agree.
Result<std::optional<double>> number_in_either(const JsonFields& outer, const JsonFields* inner,
                                               std::string_view key) {
  KVERN_TRY(const auto outside, outer.number(key));
  if (inner == nullptr) return outside;
  KVERN_TRY(const auto inside, inner->number(key));
  if (outside && inside && *outside != *inside)
    return inner->error(ErrorCode::kCorrupt, key,
                        fmt::format("is {}, but key '{}' is {}", *inside, key, *outside));
  return inside ? inside : outside;
}

Result<std::string> scaling_type(const JsonFields& scaling, bool is_parameters) {
  KVERN_TRY(const auto old_name, scaling.text("type"));
  KVERN_TRY(const auto new_name, scaling.text("rope_type"));
  if (old_name && new_name && *old_name != *new_name)
    return scaling.error(ErrorCode::kCorrupt, "rope_type",
                         fmt::format("is {}, but 'type' is {}", printable(*new_name), printable(*old_name)));
  if (new_name) return *new_name;
  if (old_name) return *old_name;
  if (is_parameters || scaling.raw().empty()) return std::string("default");
  return scaling.error(ErrorCode::kCorrupt, "rope_type", "is missing");
}

Status check_keys(const JsonFields& scaling) {
  for (const auto& member : scaling.raw()) {
    const std::string_view key(member.key().data(), member.key().size());
    if (std::ranges::find(kKnownKeys, key) == std::end(kKnownKeys) && scaling.has(key))
      return scaling.error(ErrorCode::kUnsupported, key, "is not known to kvern");
  }
  return Ok{};
}

class Reader {
 public:
  Reader(const JsonFields& outer, const JsonFields& scaling, ModelConfig& config)
      : outer_(outer), scaling_(scaling), config_(config), rope_(config.rope) {}

  Status read(const std::string& type);

 private:
  Status factor();
  Status original_context(bool required);
  Status llama3();
  Status dynamic();
  Status yarn();
  Status long_rope();
  Result<std::vector<float>> factors(std::string_view key);
  Status set(std::string_view key, double& value);
  Status set(std::string_view key, std::optional<double>& value);

  const JsonFields& outer_;
  const JsonFields& scaling_;
  ModelConfig& config_;
  RopeConfig& rope_;
};

Status Reader::set(std::string_view key, double& value) {
  KVERN_TRY(const auto number, scaling_.number(key));
  if (number) value = *number;
  return Ok{};
}

Status Reader::set(std::string_view key, std::optional<double>& value) {
  KVERN_TRY(value, scaling_.number(key));
  return Ok{};
}

Status Reader::factor() {
  KVERN_TRY(rope_.factor, scaling_.required_number("factor"));
  if (rope_.factor <= 0.0)
    return scaling_.error(ErrorCode::kCorrupt, "factor",
                          fmt::format("is {}; it must be positive", rope_.factor));
  config_.origins["rope.factor"] = scaling_.full_name("factor");
  return Ok{};
}

Status Reader::original_context(bool required) {
  KVERN_TRY(const auto value, number_in_either(outer_, &scaling_, kOriginalContext));
  if (!value && required) return scaling_.error(ErrorCode::kCorrupt, kOriginalContext, "is missing");
  const double tokens = value.value_or(static_cast<double>(config_.context));
  if (!(tokens >= 1.0) || tokens > 0x1p31 || tokens != std::floor(tokens))
    return scaling_.error(ErrorCode::kCorrupt, kOriginalContext,
                          fmt::format("is {}, no possible context", tokens));
  rope_.original_context = static_cast<int64_t>(tokens);
  config_.origins["rope.original_context"] =
      value ? scaling_.full_name(kOriginalContext) : "max_position_embeddings";
  return Ok{};
}

Status Reader::llama3() {
  rope_.scaling = RopeScaling::kLlama3;
  KVERN_TRY_STATUS(factor());
  KVERN_TRY_STATUS(original_context(true));
  KVERN_TRY(rope_.low_freq_factor, scaling_.required_number("low_freq_factor"));
  KVERN_TRY(rope_.high_freq_factor, scaling_.required_number("high_freq_factor"));
  return Ok{};
}

Status Reader::dynamic() {
  rope_.scaling = RopeScaling::kDynamicNtk;
  KVERN_TRY_STATUS(factor());
  rope_.original_context = config_.context;
  config_.context = std::max(config_.context, static_cast<int64_t>(static_cast<double>(config_.context) *
                                                                   std::min(rope_.factor, 0x1p20)));
  return Ok{};
}

Status Reader::yarn() {
  rope_.scaling = RopeScaling::kYarn;
  KVERN_TRY_STATUS(original_context(false));
  if (scaling_.has("factor") || rope_.original_context == config_.context) {
    KVERN_TRY_STATUS(factor());
  } else {
    rope_.factor = static_cast<double>(config_.context) / static_cast<double>(rope_.original_context);
    config_.origins["rope.factor"] = "max_position_embeddings / original_max_position_embeddings";
  }
  KVERN_TRY_STATUS(set("beta_fast", rope_.beta_fast));
  KVERN_TRY_STATUS(set("beta_slow", rope_.beta_slow));
  KVERN_TRY_STATUS(set("mscale", rope_.mscale));
  KVERN_TRY_STATUS(set("mscale_all_dim", rope_.mscale_all_dim));
  KVERN_TRY_STATUS(set("attention_factor", rope_.attention_factor));
  KVERN_TRY(const auto truncate, scaling_.boolean("truncate"));
  rope_.truncate = truncate.value_or(true);
  config_.context = std::max(
      config_.context,
      static_cast<int64_t>(static_cast<double>(rope_.original_context) * std::min(rope_.factor, 0x1p20)));
  return Ok{};
}

Result<std::vector<float>> Reader::factors(std::string_view key) {
  KVERN_TRY(const auto values, scaling_.numbers(key));
  const int64_t pairs = rope_.rotary_dims / 2;
  if (!values || static_cast<int64_t>(values->size()) != pairs)
    return scaling_.error(
        ErrorCode::kCorrupt, key,
        fmt::format("must be a list of {} numbers, one for each pair of rotated dimensions", pairs));
  std::vector<float> out;
  for (const double value : *values) {
    if (!(value > 0.0))
      return scaling_.error(ErrorCode::kCorrupt, key, fmt::format("holds {}; factors are positive", value));
    out.push_back(static_cast<float>(value));
  }
  return out;
}

Status Reader::long_rope() {
  rope_.scaling = RopeScaling::kLongRope;
  KVERN_TRY(rope_.short_factors, factors("short_factor"));
  KVERN_TRY(rope_.long_factors, factors("long_factor"));
  KVERN_TRY_STATUS(original_context(false));
  KVERN_TRY_STATUS(set("attention_factor", rope_.attention_factor));
  // transformers: the ratio of the contexts wherever the original one is declared, else the factor.
  if (rope_.original_context == config_.context && scaling_.has("factor")) return factor();
  rope_.factor = static_cast<double>(config_.context) / static_cast<double>(rope_.original_context);
  return Ok{};
}

Status Reader::read(const std::string& type) {
  KVERN_TRY_STATUS(check_keys(scaling_));
  if (type == "default") return Ok{};
  if (type == "linear") {
    rope_.scaling = RopeScaling::kLinear;
    return factor();
  }
  if (type == "dynamic") return dynamic();
  if (type == "llama3") return llama3();
  // Phi-3 called its scaling "su", and the first releases "yarn", before it got its name.
  const bool phi3 = config_.family == Family::kPhi3;
  if (type == "longrope" || (phi3 && (type == "su" || (type == "yarn" && scaling_.has("short_factor")))))
    return long_rope();
  if (type == "yarn") return yarn();
  return scaling_.error(
      ErrorCode::kUnsupported, "rope_type",
      fmt::format("{} is not known; kvern knows default, linear, dynamic, llama3, yarn and longrope",
                  printable(type)));
}

// The families whose windowed layers have a rope of their own.
bool has_local_rope(Family family) { return family == Family::kGemma3 || family == Family::kGemma3n; }

// The object that describes the scaling, under its old or its new name. Parameters by kind of layer are
// accepted where the family has them or where they name full attention only.
struct ScalingObject {
  std::optional<JsonFields> fields;
  bool is_parameters = false;
};

Result<ScalingObject> find_scaling(const JsonFields& fields, Family family) {
  KVERN_TRY(const auto old_object, fields.object("rope_scaling"));
  KVERN_TRY(const auto parameters, fields.object("rope_parameters"));
  if (!parameters) return ScalingObject{old_object, false};
  if (has_local_rope(family) && (parameters->has("rope_theta") || parameters->has("rope_type")))
    return fields.error(
        ErrorCode::kUnsupported, "rope_parameters",
        "must hold full_attention and sliding_attention, since this family has a rope for each");
  if (!has_local_rope(family) && parameters->has("sliding_attention"))
    return parameters->error(ErrorCode::kUnsupported, "sliding_attention",
                             "one rope for each kind of layer is not supported");
  KVERN_TRY(const auto nested, parameters->object("full_attention"));
  if (!nested && has_local_rope(family)) return ScalingObject{old_object, false};
  const JsonFields& chosen = nested ? *nested : *parameters;
  if (old_object) {
    KVERN_TRY(const std::string old_type, scaling_type(*old_object, false));
    KVERN_TRY(const std::string new_type, scaling_type(chosen, true));
    KVERN_TRY(const auto old_factor, old_object->number("factor"));
    KVERN_TRY(const auto new_factor, chosen.number("factor"));
    if (old_type != new_type || old_factor != new_factor)
      return fields.error(ErrorCode::kCorrupt, "rope_parameters", "contradicts 'rope_scaling'");
  }
  return ScalingObject{chosen, true};
}

// The rope of the layers with a window: plain, with a base of its own.
Status read_local_rope(const JsonFields& fields, ModelConfig& config) {
  constexpr std::string_view kOldKey = "rope_local_base_freq";
  KVERN_TRY(std::optional<double> theta, fields.number(kOldKey));
  config.origins["local_rope.theta"] = theta ? kOldKey : "default";
  KVERN_TRY(const auto parameters, fields.object("rope_parameters"));
  if (parameters) {
    KVERN_TRY(const auto local, parameters->object("sliding_attention"));
    if (local) {
      KVERN_TRY_STATUS(check_keys(*local));
      KVERN_TRY(const std::string type, scaling_type(*local, true));
      if (type != "default")
        return local->error(ErrorCode::kUnsupported, "rope_type",
                            fmt::format("{} is not supported; default is", printable(type)));
      KVERN_TRY(const auto own, local->number("rope_theta"));
      if (own && theta && *own != *theta)
        return local->error(ErrorCode::kCorrupt, "rope_theta",
                            fmt::format("is {}, but key '{}' is {}", *own, kOldKey, *theta));
      if (own) {
        theta = own;
        config.origins["local_rope.theta"] = local->full_name("rope_theta");
      }
    }
  }
  config.local_rope = RopeConfig{.pairing = config.rope.pairing,
                                 .rotary_dims = config.rope.rotary_dims,
                                 .theta = theta.value_or(10000.0),
                                 .context = config.context};
  return Ok{};
}

}  // namespace

Status read_hf_rope(const JsonFields& fields, ModelConfig& config) {
  KVERN_TRY(const ScalingObject scaling, find_scaling(fields, config.family));
  const JsonFields* inner = scaling.fields ? &*scaling.fields : nullptr;
  compute::RopeConfig& rope = config.rope;
  rope.pairing = compute::RopePairing::kHalfSplit;

  KVERN_TRY(const auto theta, number_in_either(fields, inner, "rope_theta"));
  rope.theta = theta.value_or(has_local_rope(config.family) ? 1e6 : 1e4);
  config.origins["rope.theta"] = theta ? "rope_theta" : "default";

  KVERN_TRY(const auto partial, number_in_either(fields, inner, "partial_rotary_factor"));
  if (partial && !(*partial > 0.0 && *partial <= 1.0))
    return fields.error(ErrorCode::kCorrupt, "partial_rotary_factor",
                        fmt::format("is {}; it lies in (0, 1]", *partial));
  rope.rotary_dims = static_cast<int64_t>(static_cast<double>(config.head_dim_k) * partial.value_or(1.0));
  config.origins["rope.rotary_dims"] = partial ? "partial_rotary_factor" : "head_dim";

  config.origins["rope.scaling"] = "default";
  if (inner != nullptr) {
    KVERN_TRY(const std::string type, scaling_type(*inner, scaling.is_parameters));
    config.origins["rope.scaling"] = scaling.is_parameters ? "rope_parameters" : "rope_scaling";
    KVERN_TRY_STATUS(Reader(fields, *inner, config).read(type));
  }
  rope.context = config.context;
  return has_local_rope(config.family) ? read_local_rope(fields, config) : Status(Ok{});
}

}  // namespace kvern::model
