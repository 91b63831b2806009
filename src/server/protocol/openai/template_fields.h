// What a chat's template is given beside the conversation.
#pragma once

#include "base/result.h"
#include "engine/chat/chat_format.h"
#include "engine/chat/chat_prompt.h"
#include "server/protocol/fields.h"

namespace kvern::server::openai {

/// Reads chat_template_kwargs, continue_final_message, add_generation_prompt and reasoning_effort.
Result<engine::ChatOptions> read_template_fields(ObjectReader& body, const engine::ChatFormat& format);

}  // namespace kvern::server::openai
