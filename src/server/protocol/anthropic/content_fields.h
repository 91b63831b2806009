// Content of messages: a string, or blocks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/chat/chat_message.h"
#include "server/protocol/fields.h"

namespace kvern::server::anthropic {

/// One block, whatever it is.
struct ContentBlock {
  enum class Kind : uint8_t { kText, kThinking, kToolUse, kToolResult };
  Kind kind = Kind::kText;
  std::string text;           ///< of kText, kThinking and kToolResult
  engine::ChatToolCall call;  ///< of kToolUse
  std::string tool_use_id;    ///< of kToolResult
};

/// Which blocks a role may write.
enum class Author : uint8_t {
  kUser,       ///< text and tool_result
  kAssistant,  ///< text, thinking and tool_use
  kSystem,     ///< text
};

/// A member that must be there: a string is one block of text. Blocks that are not text (images, documents,
/// …) are refused by name. A result with is_error begins with "Error: ", since no template has a mark for it.
Result<std::vector<ContentBlock>> read_content(ObjectReader& object, std::string_view name, Author author);

/// The member `cache_control`, which may stand at many places: prefixes are kept without it, so it changes
/// nothing, but it must be well-formed.
Status read_cache_control(ObjectReader& object);

}  // namespace kvern::server::anthropic
