// Items of a conversation: messages, calls of functions and their results, reasoning.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/chat/chat_message.h"
#include "server/protocol/fields.h"
#include "server/protocol/id_source.h"

namespace kvern::server::responses {

/// Reads items, in order, into a conversation. What an assistant thinks, says and calls, one behind the
/// other, is one message of it. One thread.
class ItemReader {
 public:
  explicit ItemReader(IdSource& ids) : ids_(ids) {}
  /// The item as it is kept and listed: complete, with an id (its own, or a new one). Errors name the member;
  /// items and parts of other types are refused by name.
  Result<json::object> add(const json::value& item, const std::string& path);
  /// A message of a user, or of the operator ("system").
  json::object add_text(std::string_view role, std::string_view text);
  std::vector<engine::ChatMessage> take_messages() { return std::move(messages_); }

 private:
  Result<json::object> add_message(ObjectReader& item);
  Result<json::object> add_call(ObjectReader& item);
  Result<json::object> add_output(ObjectReader& item);
  Result<json::object> add_reasoning(ObjectReader& item);
  Result<std::string> read_id(ObjectReader& item, std::string_view prefix);
  engine::ChatMessage& assistant();

  IdSource& ids_;
  std::vector<engine::ChatMessage> messages_;
  std::unordered_map<std::string, std::string> function_of_call_;
};

}  // namespace kvern::server::responses
