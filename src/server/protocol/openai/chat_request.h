// A body of POST /v1/chat/completions as something that can be run.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "engine/chat/reply_parser.h"
#include "engine/request/generation_service.h"
#include "server/protocol/context.h"
#include "server/protocol/openai/generation_fields.h"

namespace kvern::server::openai {

struct ChatRequest {
  engine::ServiceRequest service;
  AnswerOptions answer;
  /// How the reply's text is to be taken apart.
  engine::ReplyFormat reply;
};

/// Reads every field; renders and encodes the conversation. Errors name the field (`where`): request_error()
/// makes them what a client gets.
Result<ChatRequest> read_chat_request(const json::value& body, const ProtocolContext& context);

}  // namespace kvern::server::openai
