// A conversation as the model's template writes it.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "server/protocol/context.h"

namespace kvern::server::llama {

/// Body {messages, tools, tool_choice, parallel_tool_calls, chat_template_kwargs, add_generation_prompt,
/// continue_final_message, reasoning_effort, model}, each as in /v1/chat/completions -> {"prompt"}. Text of
/// users that spells a special token stands in it as it is: who completes that prompt trusts it.
Result<std::string> apply_template(const json::value& body, const ProtocolContext& context);

}  // namespace kvern::server::llama
