#include "server/protocol/reply_reader.h"

namespace kvern::server {
namespace {

constexpr size_t kMistralIdBytes = 9;

}  // namespace

std::vector<engine::ReplyDelta> ReplyReader::push(const engine::TokenEvent& event) {
  std::vector<engine::ReplyDelta> deltas;
  if (parser_.complete()) return deltas;
  const bool reasoning = parser_.in_reasoning();
  parser_.push(chat_.marker(event.token), deltas);
  parser_.push(event.text, deltas);
  if (reasoning || parser_.in_reasoning()) ++reasoning_tokens_;
  return deltas;
}

std::vector<engine::ReplyDelta> ReplyReader::finish(std::string_view text) {
  std::vector<engine::ReplyDelta> deltas;
  parser_.push(text, deltas);
  parser_.finish(deltas);
  return deltas;
}

std::string new_call_id(const ProtocolContext& context, std::string_view prefix) {
  if ((*context.chat)->tool_call_style() == engine::ToolCallStyle::kBracketed)
    return context.ids.next("").substr(0, kMistralIdBytes);
  return context.ids.next(prefix);
}

}  // namespace kvern::server
