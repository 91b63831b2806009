// From a conversation to the tokens that a chat model was trained on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "engine/chat/chat_format.h"
#include "engine/chat/chat_message.h"
#include "engine/load/engine.h"

namespace kvern::engine {

struct ChatOptions {
  /// The assistant's turn is begun, for it to be written.
  bool add_generation_prompt = true;
  /// The last message, an assistant's, is left open, to be written on. Not together with the former.
  bool continue_final_message = false;
  /// More variables for the template ("enable_thinking"). They cannot replace those of the conversation.
  json::object variables;
  /// text::EncodeOptions::most_tokens.
  size_t most_tokens = std::numeric_limits<size_t>::max();
};

/// A rendered conversation.
struct RenderedChat {
  MarkedText prompt;
  std::vector<int32_t> tokens;
  /// The prompt ends with <think>: the reply begins in the middle of the reasoning.
  bool opens_reasoning = false;
};

/// A conversation. Text that users write cannot forge turn markers: a special token's literal inside a
/// message, a tool or a variable (also in names and keys) is encoded as ordinary text, while the same literal
/// in the template is the token.
class ChatPrompt {
 public:
  void add(std::string_view role, std::string_view content);
  void add(ChatMessage message) { messages_.push_back(std::move(message)); }
  const std::vector<ChatMessage>& messages() const { return messages_; }
  /// The functions that may be called, as OpenAI's API describes them: objects with `type` and `function`.
  void set_tools(json::array tools) { tools_ = std::move(tools); }
  void clear() { *this = {}; }

  /// Renders the model's template and encodes it. Exactly one beginning-of-text token results, whether
  /// template or tokenizer writes it. A role "developer" that the template does not know is "system". Errors
  /// (kInvalidArgument): what the template raises, options that contradict the conversation; other codes as
  /// ChatTemplate::render.
  Result<RenderedChat> render(const ChatFormat& format, const Clock& clock,
                              const ChatOptions& options = {}) const;
  /// For one prompt, with the start of the assistant's turn; parses the template.
  Result<std::vector<int32_t>> encode(const Engine& engine, const Clock& clock) const;

 private:
  Result<json::object> context(const ChatFormat& format, const ChatOptions& options) const;
  Status check(const ChatOptions& options) const;

  std::vector<ChatMessage> messages_;
  json::array tools_;
};

}  // namespace kvern::engine
