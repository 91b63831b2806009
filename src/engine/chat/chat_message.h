// One message of a conversation, as every chat protocol can say it: plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kvern::engine {

/// A function that the assistant called.
struct ChatToolCall {
  std::string id;
  std::string name;
  /// JSON text. Templates get it as an object where it is one, else as a string.
  std::string arguments;
};

struct ChatMessage {
  std::string role;  ///< "system", "developer", "user", "assistant", "tool"
  /// None and the empty string are the same to a template.
  std::optional<std::string> content;
  /// Of the participant, or of the tool whose result this is.
  std::optional<std::string> name;
  /// What an assistant thought before its answer; templates may leave it out.
  std::optional<std::string> reasoning;
  std::vector<ChatToolCall> tool_calls;
  /// Which call a message of the role "tool" answers.
  std::optional<std::string> tool_call_id;
};

}  // namespace kvern::engine
