// `system` and `messages`: JSON to a conversation.
#pragma once

#include <vector>

#include "base/result.h"
#include "engine/chat/chat_message.h"
#include "server/protocol/fields.h"

namespace kvern::server::anthropic {

struct Conversation {
  std::vector<engine::ChatMessage> messages;
  /// The last message is the assistant's: the answer goes on from it.
  bool continues = false;
};

/// Consecutive turns of one role are one turn, texts with a line end between them. Each tool_result becomes a
/// message of the role "tool" and must answer a tool_use before it; each tool_use must be answered.
Result<Conversation> read_conversation(ObjectReader& body);

}  // namespace kvern::server::anthropic
