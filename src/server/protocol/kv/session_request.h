// What clients send to name a conversation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "server/protocol/context.h"
#include "server/protocol/request_errors.h"

namespace kvern::server::kv {

inline constexpr FieldNames kSessionFields{.prompt = "prompt", .max_new_tokens = "max_tokens"};

struct SessionRequest {
  std::string name;
  std::vector<int32_t> tokens;  ///< of the prompt or conversation
};

/// `name` and one of `prompt` (text or token ids) and `messages` (with `tools`, `chat_template_kwargs` and
/// the other members that decide how a chat becomes a prompt); `model`.
Result<SessionRequest> read_session_request(const json::value& value, const ProtocolContext& context);
/// `name`.
Result<std::string> read_session_name(const json::value& value);

}  // namespace kvern::server::kv
