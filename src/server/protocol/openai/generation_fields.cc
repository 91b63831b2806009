#include "server/protocol/openai/generation_fields.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "server/protocol/request_fields.h"
#include "server/protocol/sampling_fields.h"

namespace kvern::server::openai {
namespace {

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

Status read_stops(ObjectReader& body, const ProtocolContext& context, std::vector<std::string>& stops) {
  const json::value* value = body.take("stop");
  if (value == nullptr) return Ok{};
  const std::string path = body.path_of("stop");
  if (const json::array* array = value->if_array()) {
    KVERN_TRY(stops, read_stop_list(*array, path, context));
    return Ok{};
  }
  if (!value->is_string()) return wrong_type(path, "a string or an array of strings", *value);
  stops.emplace_back(value->get_string());
  if (stops.front().empty()) return invalid(path, "a stop string must not be empty");
  return check_stops(stops, path, context);
}

Status read_stream_fields(ObjectReader& body, AnswerOptions& answer) {
  KVERN_TRY(const auto stream, body.boolean("stream"));
  answer.stream = stream.value_or(false);
  KVERN_TRY(const json::object* options, body.object("stream_options"));
  if (options != nullptr) {
    if (!answer.stream) return invalid("stream_options", "only allowed when stream is true");
    ObjectReader reader(*options, "stream_options");
    KVERN_TRY(const auto include_usage, reader.boolean("include_usage"));
    answer.include_usage = include_usage.value_or(false);
    KVERN_TRY_STATUS(reader.refuse("include_obfuscation", "chunks are not padded", {"false"}));
    KVERN_TRY_STATUS(reader.finish());
  }
  KVERN_TRY(const auto progress, body.boolean("return_progress"));
  answer.prompt_progress = progress.value_or(false);
  if (answer.prompt_progress && !answer.stream)
    return invalid("return_progress", "only allowed when stream is true");
  KVERN_TRY(const auto token_ids, body.boolean("return_token_ids"));
  answer.return_token_ids = token_ids.value_or(false);
  return Ok{};
}

}  // namespace

Status read_generation_fields(ObjectReader& body, const ProtocolContext& context,
                              engine::ServiceRequest& request, AnswerOptions& answer) {
  KVERN_TRY_STATUS(read_model(body, context));
  answer.model = context.model_name;
  answer.system_fingerprint = context.system_fingerprint;
  answer.created =
      std::chrono::duration_cast<std::chrono::seconds>(context.clock.wall_now().time_since_epoch()).count();
  engine::SamplingParams& sampling = request.generate.sampling;
  sampling = default_sampling();
  KVERN_TRY_STATUS(read_sampling_fields(body, context, sampling));
  answer.seed = sampling.seed;
  KVERN_TRY_STATUS(read_stops(body, context, request.generate.stop));
  KVERN_TRY(const auto choices, body.integer("n", {1, context.limits.max_choices}));
  request.choices = static_cast<int32_t>(choices.value_or(1));
  KVERN_TRY(const auto ignore_eos, body.boolean("ignore_eos"));
  request.generate.ignore_end_tokens = ignore_eos.value_or(false);
  KVERN_TRY_STATUS(read_stream_fields(body, answer));
  return read_client_fields(body, request);
}

Status refuse_stored_and_paid(ObjectReader& body) {
  KVERN_TRY_STATUS(body.refuse("store", "answers are not kept", {"false"}));
  KVERN_TRY_STATUS(
      body.refuse("metadata", "answers are not kept, so there is nothing to attach it to", {"{}"}));
  KVERN_TRY_STATUS(body.refuse("service_tier", "there is one tier", {"\"auto\"", "\"default\""}));
  return body.refuse("prompt_cache_retention", "prefixes stay as long as there is room",
                     {"\"in_memory\"", "\"in-memory\""});
}

}  // namespace kvern::server::openai
