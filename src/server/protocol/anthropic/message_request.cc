#include "server/protocol/anthropic/message_request.h"

#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "server/protocol/anthropic/content_fields.h"
#include "server/protocol/anthropic/errors.h"
#include "server/protocol/anthropic/message_fields.h"
#include "server/protocol/anthropic/tool_fields.h"
#include "server/protocol/grammar_fields.h"
#include "server/protocol/request_fields.h"
#include "server/protocol/sampling_fields.h"

namespace kvern::server::anthropic {
namespace {

constexpr int64_t kLeastThinkingTokens = 1024;
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

std::unexpected<Error> unsupported(const std::string& path, std::string message) {
  return fail(ErrorCode::kUnsupported, fmt::format("{}: {}", path, message), path);
}

/// Whether the model thinks first, as far as its template has a switch.
Status set_thinking(bool wanted, bool said, const engine::ChatFormat& format, engine::ChatOptions& options) {
  if (!format.reasons())
    return wanted ? unsupported("thinking", "this model does not think before it answers") : Status(Ok{});
  if (format.mentions("enable_thinking")) {
    options.variables["enable_thinking"] = wanted;
    return Ok{};
  }
  if (said && !wanted) return unsupported("thinking", "this model's template has no way to turn it off");
  return Ok{};
}

Status read_thinking(ObjectReader& body, int64_t max_tokens, ChatWishes& wishes, MessageRequest& request,
                     const engine::ChatFormat& format) {
  KVERN_TRY(const json::object* value, body.object("thinking"));
  if (value == nullptr) return set_thinking(false, false, format, wishes.options);
  ObjectReader thinking(*value, "thinking");
  KVERN_TRY(const auto type, thinking.word("type", {"enabled", "adaptive", "disabled"}));
  if (!type) return invalid("thinking.type", "expected a string, but it is missing");
  if (*type == "enabled") {
    // A target, not a limit, says the API: the model ends its thinking itself.
    KVERN_TRY(const auto budget, thinking.integer("budget_tokens", {kLeastThinkingTokens, kNoLimit}));
    if (!budget) return invalid("thinking.budget_tokens", "expected an integer, but it is missing");
    if (*budget >= max_tokens) return invalid("thinking.budget_tokens", "it must be less than max_tokens");
  }
  if (*type != "disabled") {
    KVERN_TRY(const auto display, thinking.word("display", {"summarized", "omitted"}));
    request.omit_thinking = display.value_or("") == "omitted";
  }
  KVERN_TRY_STATUS(thinking.finish());
  return set_thinking(*type != "disabled", true, format, wishes.options);
}

Status read_output_config(ObjectReader& body, const ProtocolContext& context, ChatWishes& wishes) {
  KVERN_TRY(const json::object* value, body.object("output_config"));
  if (value == nullptr) return Ok{};
  ObjectReader config(*value, "output_config");
  KVERN_TRY(const auto effort, config.word("effort", {"low", "medium", "high", "xhigh", "max"}));
  if (effort)
    KVERN_TRY_STATUS(set_reasoning_effort(*effort, "output_config.effort", **context.chat, wishes.options));
  KVERN_TRY(const json::object* format, config.object("format"));
  KVERN_TRY_STATUS(config.finish());
  if (format == nullptr) return Ok{};
  ObjectReader reader(*format, "output_config.format");
  KVERN_TRY(const auto type, reader.word("type", {"json_schema"}));
  if (!type) return invalid("output_config.format.type", "expected a string, but it is missing");
  KVERN_TRY(const json::object* schema, reader.object("schema"));
  if (schema == nullptr)
    return invalid("output_config.format.schema", "expected an object, but it is missing");
  KVERN_TRY_STATUS(reader.finish());
  KVERN_TRY(wishes.grammar, read_json_schema(*schema, "output_config.format.schema", context));
  return Ok{};
}

/// What the API documents and this server does not do.
Status refuse_other_fields(ObjectReader& body) {
  KVERN_TRY_STATUS(body.refuse("container", "nothing is run here"));
  KVERN_TRY_STATUS(body.refuse("context_management", "conversations are taken as they are"));
  KVERN_TRY_STATUS(body.refuse("diagnostics", "there are none"));
  KVERN_TRY_STATUS(body.refuse("inference_geo", "there is one place"));
  KVERN_TRY_STATUS(body.refuse("mcp_servers", "this server connects to no others", {"[]"}));
  KVERN_TRY_STATUS(body.refuse("speed", "there is one speed", {"\"standard\""}));
  KVERN_TRY_STATUS(body.refuse("user_profile_id", "there are no profiles"));
  return body.refuse("workspace_id", "there are no workspaces");
}

/// What counting reads as well.
Status read_conversation_fields(ObjectReader& body, const ProtocolContext& context, ChatWishes& wishes,
                                MessageRequest& request) {
  KVERN_TRY_STATUS(read_model(body, context));
  request.model = context.model_name;
  if (!context.chat) return fail(ErrorCode::kUnsupported, context.chat.error().message, "messages");
  KVERN_TRY(Conversation conversation, read_conversation(body));
  for (engine::ChatMessage& message : conversation.messages) wishes.prompt.add(std::move(message));
  wishes.options.continue_final_message = conversation.continues;
  wishes.options.add_generation_prompt = !conversation.continues;
  KVERN_TRY(wishes.tools, read_tools(body, context.limits.max_tools));
  KVERN_TRY_STATUS(read_thinking(body, request.max_tokens, wishes, request, **context.chat));
  KVERN_TRY_STATUS(read_output_config(body, context, wishes));
  if (conversation.continues && wishes.grammar != nullptr)
    return unsupported("output_config.format", "not together with the beginning of an answer");
  KVERN_TRY_STATUS(read_cache_control(body));
  KVERN_TRY_STATUS(refuse_other_fields(body));
  return body.finish();
}

/// An API without penalties, biases and the like; only what it documents, and a seed.
Status read_filters(ObjectReader& body, ApiVersion version, engine::SamplingParams& sampling) {
  if (version == ApiVersion::k20261021) {
    for (const char* name : {"temperature", "top_p", "top_k"})
      KVERN_TRY_STATUS(body.refuse(name, "version 2026-10-21 of the API does not have it; 2023-06-01 does"));
    return Ok{};
  }
  KVERN_TRY(const auto temperature, body.number("temperature", {0, 1}));
  if (temperature) sampling.temperature = static_cast<float>(*temperature);
  KVERN_TRY(const auto top_p, body.number("top_p", {0, 1}));
  if (top_p) sampling.top_p = static_cast<float>(*top_p);
  KVERN_TRY(const auto top_k, body.integer("top_k", {0, std::numeric_limits<int32_t>::max()}));
  if (top_k) sampling.top_k = static_cast<int32_t>(*top_k);
  return Ok{};
}

Status read_sampling(ObjectReader& body, const ProtocolContext& context, ApiVersion version,
                     engine::SamplingParams& sampling) {
  sampling = default_sampling();
  KVERN_TRY_STATUS(read_filters(body, version, sampling));
  KVERN_TRY(const auto seed, body.integer("seed"));
  sampling.seed = seed ? static_cast<uint64_t>(*seed) : context.ids.next_seed();
  return Ok{};
}

Status read_client(ObjectReader& body, engine::ServiceRequest& service) {
  KVERN_TRY(const json::object* value, body.object("metadata"));
  if (value != nullptr) {
    ObjectReader metadata(*value, "metadata");
    KVERN_TRY(const auto user, metadata.string("user_id"));
    service.client = user.value_or("");
    KVERN_TRY_STATUS(metadata.finish());
  }
  KVERN_TRY(const auto salt, body.string("cache_salt"));
  service.cache_namespace = salt.value_or("");
  return body.refuse("service_tier", "there is one tier", {"\"auto\"", "\"standard_only\""});
}

Status read_limits(ObjectReader& body, const ProtocolContext& context, MessageRequest& request) {
  KVERN_TRY(const auto max_tokens, body.integer("max_tokens", {1, max_new_tokens(context)}));
  if (!max_tokens) return invalid("max_tokens", "expected an integer, but it is missing");
  request.max_tokens = *max_tokens;
  request.service.generate.max_new_tokens = *max_tokens;
  KVERN_TRY(const json::array* stops, body.array("stop_sequences"));
  if (stops != nullptr) {
    KVERN_TRY(request.service.generate.stop, read_stop_list(*stops, "stop_sequences", context));
  }
  return Ok{};
}

}  // namespace

Result<MessageRequest> read_message_request(const json::value& value, const ProtocolContext& context,
                                            ApiVersion version) {
  KVERN_TRY(ObjectReader body, ObjectReader::of(value, ""));
  MessageRequest request;
  KVERN_TRY_STATUS(read_limits(body, context, request));
  KVERN_TRY_STATUS(read_sampling(body, context, version, request.service.generate.sampling));
  KVERN_TRY_STATUS(read_client(body, request.service));
  KVERN_TRY(const auto stream, body.boolean("stream"));
  request.stream = stream.value_or(false);
  ChatWishes wishes;
  KVERN_TRY_STATUS(read_conversation_fields(body, context, wishes, request));
  KVERN_TRY_STATUS(plan_chat(std::move(wishes), kFields, context, request));
  request.id = context.ids.next("msg_");
  return request;
}

Result<int64_t> read_count_request(const json::value& value, const ProtocolContext& context) {
  KVERN_TRY(ObjectReader body, ObjectReader::of(value, ""));
  MessageRequest request;
  request.max_tokens = kNoLimit;
  ChatWishes wishes;
  KVERN_TRY_STATUS(read_conversation_fields(body, context, wishes, request));
  KVERN_TRY(const engine::RenderedChat rendered, render_chat(wishes, kFields, context));
  return static_cast<int64_t>(rendered.tokens.size());
}

}  // namespace kvern::server::anthropic
