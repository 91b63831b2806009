// A body of POST /v1/chat/completions as something that can be run.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "server/protocol/chat_plan.h"
#include "server/protocol/context.h"
#include "server/protocol/openai/generation_fields.h"

namespace kvern::server::openai {

struct ChatRequest : ChatPlan {
  AnswerOptions answer;
};

/// Reads every field; renders and encodes the conversation. Errors name the field (`where`): request_error()
/// makes them what a client gets.
Result<ChatRequest> read_chat_request(const json::value& body, const ProtocolContext& context);

}  // namespace kvern::server::openai
