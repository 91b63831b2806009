// `messages` of a chat: JSON to a conversation.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/chat/chat_message.h"
#include "server/protocol/fields.h"

namespace kvern::server::openai {

/// The member `messages` of the body: at least one. Texts of several parts are joined. A tool's result
/// without a name gets that of the call that it answers.
Result<std::vector<engine::ChatMessage>> read_messages(ObjectReader& body);

}  // namespace kvern::server::openai
