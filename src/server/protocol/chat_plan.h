// From a conversation, tools and wishes, whichever API they came by, to a request that the engine runs and
// the way its reply is read.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "engine/chat/chat_prompt.h"
#include "engine/chat/reply_parser.h"
#include "engine/request/generation_service.h"
#include "server/protocol/context.h"
#include "server/protocol/request_errors.h"
#include "server/protocol/tool_request.h"

namespace kvern::server {

/// What was read of a body. A plain value.
struct ChatWishes {
  engine::ChatPrompt prompt;
  engine::ChatOptions options;
  ToolRequest tools;
  /// The form of the whole answer; null: free.
  std::shared_ptr<const text::Grammar> grammar;
  /// Reasoning is told apart from the answer, where the model writes it.
  bool reasoning = true;
};

struct ChatPlan {
  /// Sampling, limits and whose it is are filled in by the API, before or after.
  engine::ServiceRequest service;
  /// How the reply's text is to be taken apart.
  engine::ReplyFormat reply;
};

/// The conversation, its tools included, as tokens. Errors name the prompt's field.
Result<engine::RenderedChat> render_chat(const ChatWishes& wishes, const FieldNames& names,
                                         const ProtocolContext& context);

/// Renders the conversation and works out how calls are enforced and replies read; completes `plan`. Errors:
/// kUnsupported where the model cannot do what is asked (also: it cannot chat), kExhausted at "prompt" where
/// the conversation is longer than the context.
Status plan_chat(ChatWishes wishes, const FieldNames& names, const ProtocolContext& context, ChatPlan& plan);

}  // namespace kvern::server
