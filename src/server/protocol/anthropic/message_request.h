// Bodies of POST /v1/messages and /v1/messages/count_tokens.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "server/protocol/chat_plan.h"
#include "server/protocol/context.h"

namespace kvern::server::anthropic {

/// What the header anthropic-version says. For messages they differ in one thing: the newer one has no
/// temperature, top_p and top_k, not even with their defaults (Anthropic's page "Versions").
enum class ApiVersion : uint8_t { k20230601, k20261021 };

struct MessageRequest : ChatPlan {
  std::string id;
  std::string model;
  int64_t max_tokens = 0;
  bool stream = false;
  /// Thinking is told without its text.
  bool omit_thinking = false;
};

/// Reads every field; renders and encodes the conversation. Errors name the field.
Result<MessageRequest> read_message_request(const json::value& body, const ProtocolContext& context,
                                            ApiVersion version);

/// The number of tokens of the prompt that the same body would make.
Result<int64_t> read_count_request(const json::value& body, const ProtocolContext& context);

}  // namespace kvern::server::anthropic
