// What OpenAI's API calls the fields that errors are about (server/protocol/request_errors.h).
#pragma once

#include "server/protocol/request_errors.h"

namespace kvern::server::openai {

inline constexpr FieldNames kChatFields{.prompt = "messages", .max_new_tokens = "max_completion_tokens"};
inline constexpr FieldNames kTextFields{.prompt = "prompt", .max_new_tokens = "max_tokens"};

}  // namespace kvern::server::openai
