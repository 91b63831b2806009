// What went wrong, as OpenAI's API says it.
#pragma once

#include <string_view>

#include "base/result.h"
#include "server/http/http_error.h"

namespace kvern::server::openai {

/// Where the prompt of a request stands: an error about the whole prompt is about this field.
inline constexpr std::string_view kChatPromptField = "messages";
inline constexpr std::string_view kTextPromptField = "prompt";

/// Of a request that was read and found wrong. kExhausted where "prompt" stands: longer than the context.
ApiError request_error(const Error& error, std::string_view prompt_field);
/// Of a request that the service refused: names of its fields become the API's. A full queue is 429.
ApiError submit_error(const Error& error, std::string_view prompt_field);
/// Of a request that ran: what the service told its sink.
ApiError run_error(const Error& error);

}  // namespace kvern::server::openai
