#include "server/protocol/responses/response_request.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "server/protocol/grammar_fields.h"
#include "server/protocol/request_fields.h"
#include "server/protocol/responses/input_items.h"
#include "server/protocol/responses/tool_fields.h"
#include "server/protocol/sampling_fields.h"

namespace kvern::server::responses {
namespace {

// What OpenAI's API reference gives for metadata.
constexpr size_t kMaxMetadata = 16;
constexpr size_t kMaxMetadataKey = 64;
constexpr size_t kMaxMetadataValue = 512;

/// About items of tools that do not exist here: there is nothing to include.
constexpr std::array kEmptyIncludes = {"file_search_call.results",
                                       "web_search_call.results",
                                       "web_search_call.action.sources",
                                       "message.input_image.image_url",
                                       "computer_call_output.output.image_url",
                                       "code_interpreter_call.outputs"};
/// Members that answers repeat.
constexpr std::array kToldFields = {"user", "safety_identifier", "prompt_cache_key"};
constexpr std::string_view kLogprobs = "message.output_text.logprobs";

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

template <typename T>
json::value or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

/// What a request is made of while it is read.
struct Draft {
  ResponseRequest request;
  ChatWishes wishes;
  ItemReader items;
  json::object text{{"format", json::object{{"type", "text"}}}, {"verbosity", "medium"}};
};

Status read_previous(ObjectReader& body, const RequestSource& source, Draft& draft) {
  KVERN_TRY(const auto id, body.string(kPreviousField));
  draft.request.response[kPreviousField] = or_null(id);
  if (!id) return Ok{};
  auto stored = source.store.find(source.client, *id);
  if (!stored) {
    return fail(ErrorCode::kNotFound,
                fmt::format("Previous response with id '{}' not found.", id->substr(0, 100)), kPreviousField);
  }
  draft.request.previous = std::move(stored->turns);
  draft.request.previous_run = stored->run;
  return Ok{};
}

/// Reads what was stored: it was valid then.
Status add_stored(const std::string& items, ItemReader& reader) {
  KVERN_TRY(const json::value parsed, parse_json(items, kPreviousField));
  for (const json::value& item : parsed.as_array()) KVERN_TRY_STATUS(reader.add(item, kPreviousField));
  return Ok{};
}

Status read_input(ObjectReader& body, Draft& draft) {
  KVERN_TRY(const auto instructions, body.string("instructions"));
  draft.request.response["instructions"] = or_null(instructions);
  if (instructions) draft.items.add_text("system", *instructions);
  for (const auto& turn : draft.request.previous) {
    KVERN_TRY_STATUS(add_stored(turn->input, draft.items));
    KVERN_TRY_STATUS(add_stored(turn->output, draft.items));
  }
  const json::value* input = body.take("input");
  if (input == nullptr) return invalid("input", "expected a string or an array of items, but it is missing");
  if (const json::string* text = input->if_string()) {
    draft.request.input.push_back(draft.items.add_text("user", *text));
    return Ok{};
  }
  const json::array* items = input->if_array();
  if (items == nullptr) return wrong_type("input", "a string or an array of items", *input);
  if (items->empty()) return invalid("input", "expected at least one item, got none");
  for (size_t i = 0; i < items->size(); ++i) {
    KVERN_TRY(json::object item, draft.items.add((*items)[i], fmt::format("input[{}]", i)));
    draft.request.input.push_back(std::move(item));
  }
  return Ok{};
}

Status read_format(const json::object& object, const ProtocolContext& context, Draft& draft) {
  ObjectReader format(object, "text.format");
  KVERN_TRY(const auto type, format.word("type", {"text", "json_object", "json_schema"}));
  if (!type) return invalid("text.format.type", "expected a string, but it is missing");
  if (*type == "json_schema") {
    KVERN_TRY_STATUS(format.required_string("name"));
    KVERN_TRY_STATUS(format.string("description"));
    // The schema is enforced whatever this says.
    KVERN_TRY_STATUS(format.boolean("strict"));
    KVERN_TRY(const json::object* schema, format.object("schema"));
    if (schema == nullptr) return invalid("text.format.schema", "expected an object, but it is missing");
    KVERN_TRY(draft.wishes.grammar, read_json_schema(*schema, "text.format.schema", context));
  }
  KVERN_TRY_STATUS(format.finish());
  if (*type == "json_object") {
    KVERN_TRY(draft.wishes.grammar, read_json_object("text.format", context));
  }
  draft.text["format"] = object;
  return Ok{};
}

Status read_text(ObjectReader& body, const ProtocolContext& context, Draft& draft) {
  KVERN_TRY(const json::object* object, body.object("text"));
  if (object == nullptr) return Ok{};
  ObjectReader text(*object, "text");
  KVERN_TRY_STATUS(text.refuse("verbosity", "say it in a message", {"\"medium\""}));
  KVERN_TRY(const json::object* format, text.object("format"));
  KVERN_TRY_STATUS(text.finish());
  return format == nullptr ? Status(Ok{}) : read_format(*format, context, draft);
}

Status read_reasoning(ObjectReader& body, const ProtocolContext& context, Draft& draft) {
  json::object told{{"effort", nullptr}, {"summary", nullptr}};
  KVERN_TRY(const json::object* object, body.object("reasoning"));
  if (object != nullptr) {
    ObjectReader reasoning(*object, "reasoning");
    KVERN_TRY(const auto effort,
              reasoning.word("effort", {"none", "minimal", "low", "medium", "high", "xhigh", "max"}));
    if (effort)
      KVERN_TRY_STATUS(
          set_reasoning_effort(*effort, "reasoning.effort", **context.chat, draft.wishes.options));
    told["effort"] = or_null(effort);
    KVERN_TRY_STATUS(reasoning.refuse("summary", "reasoning is told in full"));
    KVERN_TRY_STATUS(reasoning.refuse("generate_summary", "reasoning is told in full"));
    KVERN_TRY_STATUS(reasoning.finish());
  }
  draft.request.response["reasoning"] = std::move(told);
  return Ok{};
}

Status read_include(ObjectReader& body, const ProtocolContext& context, ResponseRequest& request) {
  KVERN_TRY(const json::array* include, body.array("include"));
  for (size_t i = 0; include != nullptr && i < include->size(); ++i) {
    const std::string path = fmt::format("include[{}]", i);
    KVERN_TRY(const std::string what, read_string((*include)[i], path));
    if (what == kLogprobs)
      request.logprobs = true;
    else if (what == "reasoning.encrypted_content")
      return fail(ErrorCode::kUnsupported,
                  path + ": reasoning is told in clear, and taken back so; it is not encrypted", path);
    else if (std::ranges::find(kEmptyIncludes, what) == kEmptyIncludes.end())
      return wrong_type(path, "a word that the API documents", (*include)[i]);
  }
  KVERN_TRY(const auto top, body.integer("top_logprobs", {0, context.limits.max_top_logprobs}));
  if (top.value_or(0) > 0 && !request.logprobs)
    return invalid("top_logprobs", fmt::format("only allowed when include has \"{}\"", kLogprobs));
  request.response["top_logprobs"] = top.value_or(0);
  if (request.logprobs)
    request.service.generate.sampling.top_logprobs = static_cast<uint32_t>(top.value_or(0));
  return Ok{};
}

Status read_metadata(ObjectReader& body, ResponseRequest& request) {
  KVERN_TRY(const json::object* object, body.object("metadata"));
  request.response["metadata"] = object == nullptr ? json::object{} : *object;
  if (object == nullptr) return Ok{};
  if (object->size() > kMaxMetadata)
    return invalid("metadata", fmt::format("{} pairs; at most {} are taken", object->size(), kMaxMetadata));
  for (const auto& item : *object) {
    if (item.key().size() > kMaxMetadataKey)
      return invalid("metadata", fmt::format("a key is longer than {} bytes", kMaxMetadataKey));
    const std::string path = fmt::format("metadata.{}", std::string_view(item.key()));
    KVERN_TRY(const std::string value, read_string(item.value(), path));
    if (value.size() > kMaxMetadataValue)
      return invalid(path, fmt::format("it is longer than {} bytes", kMaxMetadataValue));
  }
  return Ok{};
}

Status read_stream(ObjectReader& body, ResponseRequest& request) {
  KVERN_TRY(const auto stream, body.boolean("stream"));
  request.stream = stream.value_or(false);
  KVERN_TRY(const json::object* options, body.object("stream_options"));
  if (options == nullptr) return Ok{};
  if (!request.stream) return invalid("stream_options", "only allowed when stream is true");
  ObjectReader reader(*options, "stream_options");
  KVERN_TRY_STATUS(reader.refuse("include_obfuscation", "events are not padded", {"false"}));
  return reader.finish();
}

/// What the API documents and this server does not do.
Status refuse_other_fields(ObjectReader& body) {
  KVERN_TRY_STATUS(body.refuse("context_management", "conversations are taken as they are", {"[]"}));
  KVERN_TRY_STATUS(body.refuse("conversation", "use previous_response_id"));
  KVERN_TRY_STATUS(body.refuse("max_tool_calls", "no tools are run here"));
  KVERN_TRY_STATUS(body.refuse("moderation", "nothing is moderated here"));
  KVERN_TRY_STATUS(body.refuse("prompt", "prompts are not kept here"));
  KVERN_TRY_STATUS(body.refuse("prompt_cache_options", "prefixes stay as long as there is room"));
  KVERN_TRY_STATUS(
      body.refuse("prompt_cache_retention", "prefixes stay as long as there is room", {"\"in_memory\""}));
  KVERN_TRY_STATUS(body.refuse("service_tier", "there is one tier", {"\"auto\"", "\"default\""}));
  return body.refuse("truncation", "what is too long is refused, and nothing is left out", {"\"disabled\""});
}

/// What counting reads as well.
Status read_conversation(ObjectReader& body, const RequestSource& source, Draft& draft) {
  const ProtocolContext& context = source.context;
  KVERN_TRY_STATUS(read_model(body, context));
  if (!context.chat) return fail(ErrorCode::kUnsupported, context.chat.error().message, "input");
  KVERN_TRY_STATUS(read_previous(body, source, draft));
  KVERN_TRY_STATUS(read_input(body, draft));
  for (engine::ChatMessage& message : draft.items.take_messages())
    draft.wishes.prompt.add(std::move(message));
  KVERN_TRY(draft.wishes.tools, read_tools(body, context.limits.max_tools));
  KVERN_TRY_STATUS(read_text(body, context, draft));
  KVERN_TRY_STATUS(read_reasoning(body, context, draft));
  return refuse_other_fields(body);
}

Status read_background(ObjectReader& body, const ProtocolContext& context, ResponseRequest& request) {
  if (context.runs == nullptr)
    return body.refuse("background", "answers are made while the client waits", {"false"});
  KVERN_TRY(const auto background, body.boolean("background"));
  request.background = background.value_or(false);
  if (request.background && !request.store)
    return invalid("background", "only allowed when store is true: there is no other way to the answer");
  request.response["background"] = request.background;
  return Ok{};
}

Status read_limits(ObjectReader& body, const ProtocolContext& context, ResponseRequest& request) {
  KVERN_TRY(request.max_output_tokens, body.integer("max_output_tokens", {1, max_new_tokens(context)}));
  request.response["max_output_tokens"] = or_null(request.max_output_tokens);
  request.service.as_long_as_fits = !request.max_output_tokens;
  request.service.generate.max_new_tokens = request.max_output_tokens.value_or(max_new_tokens(context));
  engine::SamplingParams& sampling = request.service.generate.sampling;
  sampling = default_sampling();
  KVERN_TRY_STATUS(read_sampling_fields(body, context, sampling));
  // As they were written: a float would tell them with other digits.
  for (const char* name : {"temperature", "top_p"}) {
    const json::value* value = body.take(name);
    request.response[name] = value != nullptr ? *value : json::value(1.0);
  }
  KVERN_TRY_STATUS(read_client_fields(body, request.service));
  for (const char* name : kToldFields) {
    const json::value* value = body.take(name);
    request.response[name] = value != nullptr ? *value : json::value(nullptr);
  }
  KVERN_TRY(const auto store, body.boolean("store"));
  request.store = store.value_or(true);
  request.response["store"] = request.store;
  return read_background(body, context, request);
}

int64_t seconds_now(const ProtocolContext& context) {
  return std::chrono::duration_cast<std::chrono::seconds>(context.clock.wall_now().time_since_epoch())
      .count();
}

/// The members in the order in which the API documents them; the rest is filled in while reading.
json::object empty_response(const ProtocolContext& context) {
  json::object response{{"id", context.ids.next("resp_")},
                        {"object", "response"},
                        {"created_at", seconds_now(context)},
                        {"status", "in_progress"},
                        {"completed_at", nullptr},
                        {"background", false},
                        {"error", nullptr},
                        {"incomplete_details", nullptr}};
  for (const char* name : {"instructions", "max_output_tokens"}) response[name] = nullptr;
  response["model"] = context.model_name;
  response["output"] = json::array{};
  for (const char* name : {"parallel_tool_calls", kPreviousField, "reasoning"}) response[name] = nullptr;
  response["service_tier"] = "default";
  for (const char* name : {"store", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p"})
    response[name] = nullptr;
  response["truncation"] = "disabled";
  for (const char* name : {"usage", "metadata"}) response[name] = nullptr;
  for (const char* name : kToldFields) response[name] = nullptr;
  return response;
}

}  // namespace

Result<ResponseRequest> read_response_request(const json::value& value, const RequestSource& source) {
  const ProtocolContext& context = source.context;
  KVERN_TRY(ObjectReader body, ObjectReader::of(value, ""));
  Draft draft{.request = {}, .wishes = {}, .items = ItemReader(context.ids)};
  ResponseRequest& request = draft.request;
  request.response = empty_response(context);
  KVERN_TRY_STATUS(read_limits(body, context, request));
  KVERN_TRY_STATUS(read_stream(body, request));
  KVERN_TRY_STATUS(read_include(body, context, request));
  KVERN_TRY_STATUS(read_metadata(body, request));
  KVERN_TRY_STATUS(read_conversation(body, source, draft));
  KVERN_TRY_STATUS(body.finish());
  request.response["text"] = std::move(draft.text);
  tell_tools(draft.wishes.tools, request.response);
  KVERN_TRY_STATUS(plan_chat(std::move(draft.wishes), kFields, context, request));
  return std::move(draft.request);
}

Result<int64_t> read_input_tokens(const json::value& value, const RequestSource& source) {
  KVERN_TRY(ObjectReader body, ObjectReader::of(value, ""));
  Draft draft{.request = {}, .wishes = {}, .items = ItemReader(source.context.ids)};
  KVERN_TRY_STATUS(body.refuse("background", "there is nothing to wait for", {"false"}));
  KVERN_TRY_STATUS(read_conversation(body, source, draft));
  KVERN_TRY_STATUS(body.finish());
  KVERN_TRY(const engine::RenderedChat rendered, render_chat(draft.wishes, kFields, source.context));
  return static_cast<int64_t>(rendered.tokens.size());
}

}  // namespace kvern::server::responses
