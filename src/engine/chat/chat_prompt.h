// From a conversation to the tokens that a chat model was trained on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "engine/load/engine.h"

namespace kvern::engine {

/// A conversation. Text that users write cannot forge turn markers: a special token's literal inside a
/// message is encoded as ordinary text, while the same literal in the template is the token.
class ChatPrompt {
 public:
  void add(std::string_view role, std::string_view content);
  const json::array& messages() const { return messages_; }
  void clear() { messages_.clear(); }

  /// Renders the model's template with the start of the assistant's turn and encodes it. Exactly one
  /// beginning-of-text token results, whether template or tokenizer writes it. Errors: no template, no
  /// tokenizer, what the template raises.
  Result<std::vector<int32_t>> encode(const Engine& engine, const Clock& clock) const;

 private:
  json::array messages_;
};

}  // namespace kvern::engine
