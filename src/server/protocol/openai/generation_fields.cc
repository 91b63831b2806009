#include "server/protocol/openai/generation_fields.h"

#include <charconv>
#include <chrono>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace kvern::server::openai {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr double kMaxFloat = std::numeric_limits<float>::max();

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

struct NumberField {
  std::string_view name;
  float* target = nullptr;
  NumberRange range;
};

Status read_model(ObjectReader& body, const ProtocolContext& context, AnswerOptions& answer) {
  KVERN_TRY(const auto model, body.string("model"));
  // With one model there is nothing to choose.
  if (model && !context.serves(*model)) {
    return fail(ErrorCode::kNotFound,
                fmt::format("The model `{}` does not exist; this server has `{}`",
                            model->size() > 100 ? model->substr(0, 100) : *model, context.model_name),
                "model");
  }
  answer.model = context.model_name;
  answer.system_fingerprint = context.system_fingerprint;
  answer.created =
      std::chrono::duration_cast<std::chrono::seconds>(context.clock.wall_now().time_since_epoch()).count();
  return Ok{};
}

Status read_numbers(ObjectReader& body, engine::SamplingParams& sampling) {
  const NumberField fields[] = {
      {"temperature", &sampling.temperature, {0, 2}},
      {"top_p", &sampling.top_p, {0, 1}},
      {"presence_penalty", &sampling.presence_penalty, {-2, 2}},
      {"frequency_penalty", &sampling.frequency_penalty, {-2, 2}},
      {"min_p", &sampling.min_p, {0, 1}},
      {"typical_p", &sampling.typical_p, {0, 1}},
      {"repeat_penalty", &sampling.repeat_penalty, {std::numeric_limits<float>::min(), kMaxFloat}},
      {"xtc_probability", &sampling.xtc_probability, {0, 1}},
      {"xtc_threshold", &sampling.xtc_threshold, {0, 1}},
  };
  for (const NumberField& field : fields) {
    KVERN_TRY(const auto value, body.number(field.name, field.range));
    if (value) *field.target = static_cast<float>(*value);
  }
  return Ok{};
}

Status read_integers(ObjectReader& body, engine::SamplingParams& sampling) {
  KVERN_TRY(const auto top_k, body.integer("top_k", {0, kMaxInt32}));
  if (top_k) sampling.top_k = static_cast<int32_t>(*top_k);
  KVERN_TRY(const auto min_keep, body.integer("min_keep", {0, kMaxInt32}));
  if (min_keep) sampling.min_keep = static_cast<int32_t>(*min_keep);
  KVERN_TRY(const auto last_n, body.integer("repeat_last_n", {engine::kWholeHistory, kMaxInt32}));
  if (last_n) sampling.repeat_last_n = static_cast<int32_t>(*last_n);
  return Ok{};
}

Result<engine::TokenId> read_token_id(std::string_view text, size_t vocabulary, const std::string& path) {
  int64_t id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0 ||
      id >= static_cast<int64_t>(vocabulary)) {
    return invalid(path, fmt::format("expected token ids from 0 to {} as names, got {}", vocabulary - 1,
                                     describe(json::value(text))));
  }
  return static_cast<engine::TokenId>(id);
}

Status read_logit_bias(ObjectReader& body, const ProtocolContext& context, engine::SamplingParams& sampling) {
  KVERN_TRY(const json::object* biases, body.object("logit_bias"));
  if (biases == nullptr) return Ok{};
  const std::string path = body.path_of("logit_bias");
  if (biases->size() > context.limits.max_logit_biases) {
    return invalid(path, fmt::format("{} tokens; at most {} are taken", biases->size(),
                                     context.limits.max_logit_biases));
  }
  const auto vocabulary = static_cast<size_t>(context.engine.model().config().vocab);
  for (const auto& item : *biases) {
    KVERN_TRY(const engine::TokenId token, read_token_id(item.key(), vocabulary, path));
    KVERN_TRY(const double bias, read_number(item.value(), fmt::format("{}.{}", path, token), {-100, 100}));
    sampling.logit_bias.push_back({.token = token, .bias = static_cast<float>(bias)});
  }
  return Ok{};
}

Result<std::string> read_stop(const json::value& value, const std::string& path) {
  KVERN_TRY(std::string stop, read_string(value, path));
  if (stop.empty()) return invalid(path, "a stop string must not be empty");
  return stop;
}

Status read_stops(ObjectReader& body, const ProtocolContext& context, std::vector<std::string>& stops) {
  const json::value* value = body.take("stop");
  if (value == nullptr) return Ok{};
  const std::string path = body.path_of("stop");
  if (value->is_string()) {
    KVERN_TRY(std::string stop, read_stop(*value, path));
    stops.push_back(std::move(stop));
  } else if (const json::array* array = value->if_array()) {
    if (array->size() > context.limits.max_stop_strings) {
      return invalid(path, fmt::format("{} stop strings; at most {} are taken", array->size(),
                                       context.limits.max_stop_strings));
    }
    for (size_t i = 0; i < array->size(); ++i) {
      KVERN_TRY(std::string stop, read_stop((*array)[i], fmt::format("{}[{}]", path, i)));
      stops.push_back(std::move(stop));
    }
  } else {
    return wrong_type(path, "a string or an array of strings", *value);
  }
  if (!stops.empty() && context.engine.tokenizer() == nullptr)
    return invalid(path, "this model has no tokenizer, so its output has no text to stop at");
  return Ok{};
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

}  // namespace

int64_t max_new_tokens(const ProtocolContext& context) {
  return context.limits.max_new_tokens > 0 ? context.limits.max_new_tokens
                                           : std::numeric_limits<int64_t>::max();
}

Status read_generation_fields(ObjectReader& body, const ProtocolContext& context,
                              engine::ServiceRequest& request, AnswerOptions& answer) {
  KVERN_TRY_STATUS(read_model(body, context, answer));
  engine::SamplingParams& sampling = request.generate.sampling;
  sampling.temperature = 1;
  sampling.top_p = 1;
  sampling.top_k = 0;
  sampling.min_p = 0;
  sampling.repeat_last_n = engine::kWholeHistory;
  sampling.additive_scope = engine::PenaltyScope::kGenerated;
  KVERN_TRY_STATUS(read_numbers(body, sampling));
  KVERN_TRY_STATUS(read_integers(body, sampling));
  KVERN_TRY_STATUS(read_logit_bias(body, context, sampling));
  KVERN_TRY_STATUS(read_stops(body, context, request.generate.stop));
  KVERN_TRY(const auto choices, body.integer("n", {1, context.limits.max_choices}));
  request.choices = static_cast<int32_t>(choices.value_or(1));
  KVERN_TRY(const auto seed, body.integer("seed"));
  sampling.seed = seed ? static_cast<uint64_t>(*seed) : context.ids.next_seed();
  answer.seed = sampling.seed;
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
