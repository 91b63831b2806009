#include "server/protocol/anthropic/message_fields.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "server/protocol/anthropic/content_fields.h"

namespace kvern::server::anthropic {
namespace {

using Kind = ContentBlock::Kind;

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

/// Puts blocks together to messages as templates know them.
class Assembler {
 public:
  Status add_turn(const std::string& role, std::vector<ContentBlock> blocks, const std::string& path) {
    if (role != last_role_) begin_turn(role);
    // Blocks of one turn belong together; turns that are put together do not.
    bool new_turn = true;
    for (size_t i = 0; i < blocks.size(); ++i) {
      KVERN_TRY_STATUS(add(role, std::move(blocks[i]), {path, i, std::exchange(new_turn, false)}));
    }
    if (role == "user" && !open_calls_.empty())
      return invalid(path, fmt::format("the tool_use \"{}\" before it has no tool_result here", open_id()));
    last_role_ = role;
    return Ok{};
  }

  Result<Conversation> finish(const std::string& path) {
    if (!open_calls_.empty())
      return invalid(path, fmt::format("the tool_use \"{}\" has no tool_result", open_id()));
    return Conversation{.messages = std::move(messages_), .continues = last_role_ == "assistant"};
  }

 private:
  struct Place {
    const std::string& path;
    size_t index;
    bool new_turn;
  };

  void begin_turn(const std::string& role) {
    fresh_ = true;
    if (role == "assistant") message(role);
  }

  engine::ChatMessage& message(const std::string& role) {
    if (fresh_ || messages_.empty() || messages_.back().role != role) messages_.push_back({.role = role});
    fresh_ = false;
    return messages_.back();
  }

  Status add(const std::string& role, ContentBlock block, const Place& place) {
    switch (block.kind) {
      case Kind::kText: {
        std::string& content = text_of(message(role).content);
        if (place.new_turn && !content.empty()) content += '\n';
        content += block.text;
        return Ok{};
      }
      case Kind::kThinking:
        text_of(message(role).reasoning) += block.text;
        return Ok{};
      case Kind::kToolUse:
        open_calls_.push_back(block.call);
        message(role).tool_calls.push_back(std::move(block.call));
        return Ok{};
      case Kind::kToolResult:
        return add_result(std::move(block),
                          fmt::format("{}.content[{}].tool_use_id", place.path, place.index));
    }
    return Ok{};
  }

  Status add_result(ContentBlock block, const std::string& path) {
    const auto call = std::ranges::find(open_calls_, block.tool_use_id, &engine::ChatToolCall::id);
    if (call == open_calls_.end())
      return invalid(path, "it names no tool_use of the turn before, or one that has its result");
    messages_.push_back({.role = "tool",
                         .content = std::move(block.text),
                         .name = call->name,
                         .tool_call_id = std::move(block.tool_use_id)});
    open_calls_.erase(call);
    return Ok{};
  }

  static std::string& text_of(std::optional<std::string>& text) {
    if (!text) text.emplace();
    return *text;
  }
  std::string open_id() const { return open_calls_.front().id.substr(0, 100); }

  std::vector<engine::ChatMessage> messages_;
  std::string last_role_;
  bool fresh_ = true;  // the next block begins a message
  std::vector<engine::ChatToolCall> open_calls_;
};

Status read_system(ObjectReader& body, Assembler& out) {
  if (body.take("system") == nullptr) return Ok{};
  KVERN_TRY(std::vector<ContentBlock> blocks, read_content(body, "system", Author::kSystem));
  return out.add_turn("system", std::move(blocks), "system");
}

Author author_of(const std::string& role) {
  if (role == "user") return Author::kUser;
  return role == "assistant" ? Author::kAssistant : Author::kSystem;
}

Status read_message(const json::value& value, const std::string& path, Assembler& out) {
  KVERN_TRY(ObjectReader message, ObjectReader::of(value, path));
  KVERN_TRY(const auto role, message.word("role", {"user", "assistant", "system"}));
  if (!role) return invalid(message.path_of("role"), "expected a string, but it is missing");
  KVERN_TRY(std::vector<ContentBlock> blocks, read_content(message, "content", author_of(*role)));
  KVERN_TRY_STATUS(message.finish());
  return out.add_turn(*role, std::move(blocks), path);
}

}  // namespace

Result<Conversation> read_conversation(ObjectReader& body) {
  Assembler conversation;
  KVERN_TRY_STATUS(read_system(body, conversation));
  KVERN_TRY(const json::array* messages, body.array("messages"));
  if (messages == nullptr) return invalid("messages", "expected an array of messages, but it is missing");
  if (messages->empty()) return invalid("messages", "expected at least one message, got none");
  std::string path;
  for (size_t i = 0; i < messages->size(); ++i) {
    path = fmt::format("messages[{}]", i);
    KVERN_TRY_STATUS(read_message((*messages)[i], path, conversation));
  }
  return conversation.finish(path);
}

}  // namespace kvern::server::anthropic
