#include "server/protocol/llama/template_route.h"

#include <utility>
#include <vector>

#include "server/protocol/chat_plan.h"
#include "server/protocol/openai/errors.h"
#include "server/protocol/openai/message_fields.h"
#include "server/protocol/openai/template_fields.h"
#include "server/protocol/openai/tool_fields.h"
#include "server/protocol/request_fields.h"

namespace kvern::server::llama {

Result<std::string> apply_template(const json::value& value, const ProtocolContext& context) {
  KVERN_TRY(ObjectReader body, ObjectReader::of(value, ""));
  KVERN_TRY_STATUS(read_model(body, context));
  if (!context.chat) return fail(ErrorCode::kUnsupported, context.chat.error().message, "messages");
  ChatWishes wishes;
  KVERN_TRY(std::vector<engine::ChatMessage> messages, openai::read_messages(body));
  for (engine::ChatMessage& message : messages) wishes.prompt.add(std::move(message));
  KVERN_TRY(wishes.tools, openai::read_tools(body, context.limits.max_tools));
  KVERN_TRY(wishes.options, openai::read_template_fields(body, **context.chat));
  KVERN_TRY_STATUS(body.finish());
  wishes.options.most_tokens = 0;  // the text is what is wanted
  KVERN_TRY(engine::RenderedChat rendered, render_chat(wishes, openai::kChatFields, context));
  return to_json(json::object{{"prompt", std::move(rendered.prompt.text)}});
}

}  // namespace kvern::server::llama
