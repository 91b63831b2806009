// One reply, taken apart while its tokens come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chat/chat_format.h"
#include "engine/chat/reply_parser.h"
#include "engine/request/generation_service.h"
#include "server/protocol/context.h"

namespace kvern::server {

/// One thread. Borrows the format.
class ReplyReader {
 public:
  ReplyReader(const engine::ChatFormat& chat, const engine::ReplyFormat& format)
      : chat_(chat), parser_(format) {}

  /// What became certain with this token; nothing once complete().
  std::vector<engine::ReplyDelta> push(const engine::TokenEvent& event);
  /// The end: the text that came with it, and all that was held back.
  std::vector<engine::ReplyDelta> finish(std::string_view text);

  /// Nothing that follows can change the reply.
  bool complete() const { return parser_.complete(); }
  size_t calls() const { return parser_.calls(); }
  int64_t reasoning_tokens() const { return reasoning_tokens_; }

 private:
  const engine::ChatFormat& chat_;
  engine::ReplyParser parser_;
  int64_t reasoning_tokens_ = 0;
};

/// A new name for a call of a tool, as the model's template can take it back: `prefix` and letters, or, where
/// a template takes nine characters only (Mistral's), these.
std::string new_call_id(const ProtocolContext& context, std::string_view prefix);

}  // namespace kvern::server
