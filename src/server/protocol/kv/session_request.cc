#include "server/protocol/kv/session_request.h"

#include <utility>

#include <fmt/format.h>

#include "base/plural.h"
#include "engine/tiers/saved_prefixes.h"
#include "server/protocol/chat_plan.h"
#include "server/protocol/openai/errors.h"
#include "server/protocol/openai/message_fields.h"
#include "server/protocol/openai/prompt_fields.h"
#include "server/protocol/openai/template_fields.h"
#include "server/protocol/openai/tool_fields.h"
#include "server/protocol/prompt_length.h"
#include "server/protocol/request_fields.h"

namespace kvern::server::kv {
namespace {

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

Result<std::string> read_name(ObjectReader& body) {
  KVERN_TRY(std::string name, body.required_string("name"));
  if (!engine::SavedPrefixes::is_session_name(name))
    return invalid("name", "1 to 200 bytes without control characters");
  return name;
}

Result<std::vector<int32_t>> read_conversation(ObjectReader& body, const ProtocolContext& context) {
  if (!context.chat) return fail(ErrorCode::kUnsupported, context.chat.error().message, "messages");
  ChatWishes wishes;
  KVERN_TRY(std::vector<engine::ChatMessage> messages, openai::read_messages(body));
  for (engine::ChatMessage& message : messages) wishes.prompt.add(std::move(message));
  KVERN_TRY(wishes.tools, openai::read_tools(body, context.limits.max_tools));
  KVERN_TRY(wishes.options, openai::read_template_fields(body, **context.chat));
  wishes.options.most_tokens = most_counted_tokens(context.engine);
  KVERN_TRY(engine::RenderedChat rendered, render_chat(wishes, openai::kChatFields, context));
  return std::move(rendered.tokens);
}

}  // namespace

Result<std::string> read_session_name(const json::value& value) {
  KVERN_TRY(ObjectReader body, ObjectReader::of(value, ""));
  KVERN_TRY(std::string name, read_name(body));
  KVERN_TRY_STATUS(body.finish());
  return name;
}

Result<SessionRequest> read_session_request(const json::value& value, const ProtocolContext& context) {
  KVERN_TRY(ObjectReader body, ObjectReader::of(value, ""));
  SessionRequest request;
  KVERN_TRY_STATUS(read_model(body, context));
  KVERN_TRY(request.name, read_name(body));
  const json::value* prompt = body.take("prompt");
  if (prompt != nullptr && value.as_object().contains("messages"))
    return invalid("prompt", "give either it or messages");
  if (prompt != nullptr) {
    KVERN_TRY(request.tokens, openai::read_prompt(*prompt, "prompt", context));
  } else {
    KVERN_TRY(request.tokens, read_conversation(body, context));
  }
  KVERN_TRY_STATUS(body.finish());
  KVERN_TRY_STATUS(check_prompt_length(request.tokens.size(), "the prompt has", context.engine));
  const auto tokens = std::ssize(request.tokens);
  if (tokens < context.saved->least_tokens()) {
    return invalid(prompt != nullptr ? "prompt" : "messages",
                   fmt::format("it has {}, and those of less than {} are not saved", counted(tokens, "token"),
                               context.saved->least_tokens()));
  }
  return request;
}

}  // namespace kvern::server::kv
