#include "server/protocol/request_fields.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

namespace kvern::server {
namespace {

constexpr size_t kShownNameBytes = 100;

}  // namespace

Result<json::value> parse_body(const ProtocolContext& context, const Exchange& exchange) {
  return parse_json(exchange.request().body, "", {.max_depth = context.limits.max_json_depth});
}

Status read_model(ObjectReader& body, const ProtocolContext& context) {
  KVERN_TRY(const auto model, body.string("model"));
  if (!model || context.serves(*model)) return Ok{};
  return fail(ErrorCode::kNotFound,
              fmt::format("The model `{}` does not exist; this server has `{}`",
                          model->size() > kShownNameBytes ? model->substr(0, kShownNameBytes) : *model,
                          context.model_name),
              "model");
}

int64_t max_new_tokens(const ProtocolContext& context) {
  return context.limits.max_new_tokens > 0 ? context.limits.max_new_tokens
                                           : std::numeric_limits<int64_t>::max();
}

Result<std::vector<std::string>> read_stop_list(const json::array& array, const std::string& path,
                                                const ProtocolContext& context) {
  if (array.size() > context.limits.max_stop_strings) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: {} stop strings; at most {} are taken", path, array.size(),
                            context.limits.max_stop_strings),
                path);
  }
  std::vector<std::string> stops;
  for (size_t i = 0; i < array.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", path, i);
    KVERN_TRY(std::string stop, read_string(array[i], place));
    if (stop.empty())
      return fail(ErrorCode::kInvalidArgument, place + ": a stop string must not be empty", place);
    stops.push_back(std::move(stop));
  }
  KVERN_TRY_STATUS(check_stops(stops, path, context));
  return stops;
}

Status check_stops(const std::vector<std::string>& stops, const std::string& path,
                   const ProtocolContext& context) {
  if (stops.empty() || context.engine.tokenizer() != nullptr) return Ok{};
  return fail(ErrorCode::kInvalidArgument,
              path + ": this model has no tokenizer, so its output has no text to stop at", path);
}

Status read_client_fields(ObjectReader& body, engine::ServiceRequest& request) {
  KVERN_TRY(const auto user, body.string("user"));
  KVERN_TRY(const auto safety, body.string("safety_identifier"));
  request.client = user ? *user : safety.value_or("");
  KVERN_TRY(const auto salt, body.string("cache_salt"));
  request.cache_namespace = salt.value_or("");
  KVERN_TRY(const auto cache_prompt, body.boolean("cache_prompt"));
  request.reuse_prefix = cache_prompt.value_or(true);
  // Tells OpenAI which of its machines to ask; here there is one.
  KVERN_TRY_STATUS(body.string("prompt_cache_key"));
  return Ok{};
}

Status set_reasoning_effort(const std::string& effort, const std::string& path,
                            const engine::ChatFormat& format, engine::ChatOptions& options) {
  if (format.mentions("reasoning_effort")) {
    options.variables["reasoning_effort"] = effort;
    return Ok{};
  }
  if (effort == "none" && !format.reasons()) return Ok{};
  if (effort == "none" && format.mentions("enable_thinking")) {
    options.variables["enable_thinking"] = false;
    return Ok{};
  }
  return fail(ErrorCode::kUnsupported, path + " is not supported: this model's template has no such setting",
              path);
}

}  // namespace kvern::server
