#include "server/protocol/openai/chat_request.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "server/protocol/openai/constraint_fields.h"
#include "server/protocol/openai/errors.h"
#include "server/protocol/openai/message_fields.h"
#include "server/protocol/openai/template_fields.h"
#include "server/protocol/openai/tool_fields.h"
#include "server/protocol/request_fields.h"

namespace kvern::server::openai {
namespace {

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

Status read_max_tokens(ObjectReader& body, const ProtocolContext& context, engine::ServiceRequest& service) {
  const IntegerRange range{1, max_new_tokens(context)};
  KVERN_TRY(const auto old_name, body.integer("max_tokens", range));
  KVERN_TRY(const auto new_name, body.integer("max_completion_tokens", range));
  if (old_name && new_name && *old_name != *new_name)
    return invalid("max_tokens", "it and max_completion_tokens mean the same, and are not equal");
  // Without a limit the context and the memory are.
  service.as_long_as_fits = !new_name && !old_name;
  service.generate.max_new_tokens = new_name ? *new_name : old_name.value_or(range.max);
  return Ok{};
}

Status read_logprobs(ObjectReader& body, const ProtocolContext& context, ChatRequest& request) {
  KVERN_TRY(const auto wanted, body.boolean("logprobs"));
  KVERN_TRY(const auto top, body.integer("top_logprobs", {0, context.limits.max_top_logprobs}));
  if (top && !wanted.value_or(false)) return invalid("top_logprobs", "only allowed when logprobs is true");
  if (!wanted.value_or(false)) return Ok{};
  request.answer.top_logprobs = static_cast<uint32_t>(top.value_or(0));
  request.service.generate.sampling.top_logprobs = request.answer.top_logprobs;
  return Ok{};
}

/// "none": reasoning stays in the text.
Result<bool> read_reasoning_format(ObjectReader& body) {
  KVERN_TRY(const auto kind, body.word("reasoning_format", {"none", "auto", "deepseek"}));
  return kind.value_or("auto") != "none";
}

Status refuse_other_fields(ObjectReader& body) {
  KVERN_TRY_STATUS(refuse_stored_and_paid(body));
  KVERN_TRY_STATUS(body.refuse("modalities", "there is text only", {"[\"text\"]"}));
  KVERN_TRY_STATUS(body.refuse("audio", "there is text only"));
  KVERN_TRY_STATUS(body.refuse("prediction", "it would change nothing but the speed"));
  KVERN_TRY_STATUS(body.refuse("web_search_options", "this server searches nothing"));
  KVERN_TRY_STATUS(body.refuse("verbosity", "say it in a message", {"\"medium\""}));
  return body.finish();
}

}  // namespace

Result<ChatRequest> read_chat_request(const json::value& value, const ProtocolContext& context) {
  KVERN_TRY(ObjectReader body, ObjectReader::of(value, ""));
  ChatRequest request;
  KVERN_TRY_STATUS(read_generation_fields(body, context, request.service, request.answer));
  if (!context.chat) return fail(ErrorCode::kUnsupported, context.chat.error().message, "messages");
  KVERN_TRY_STATUS(read_max_tokens(body, context, request.service));
  KVERN_TRY_STATUS(read_logprobs(body, context, request));
  ChatWishes wishes;
  KVERN_TRY(std::vector<engine::ChatMessage> messages, read_messages(body));
  for (engine::ChatMessage& message : messages) wishes.prompt.add(std::move(message));
  KVERN_TRY(wishes.tools, read_tools(body, context.limits.max_tools));
  KVERN_TRY(wishes.options, read_template_fields(body, **context.chat));
  KVERN_TRY(wishes.reasoning, read_reasoning_format(body));
  KVERN_TRY(wishes.grammar, read_constraint(body, context));
  KVERN_TRY_STATUS(refuse_other_fields(body));
  KVERN_TRY_STATUS(plan_chat(std::move(wishes), kChatFields, context, request));
  request.answer.id = context.ids.next("chatcmpl-");
  return request;
}

}  // namespace kvern::server::openai
