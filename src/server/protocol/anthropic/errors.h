// What went wrong, as Anthropic's API says it: {"type": "error", "error": {"type", "message"}, "request_id"}.
#pragma once

#include <string>

#include "base/json.h"
#include "server/http/exchange.h"
#include "server/http/http_error.h"
#include "server/protocol/request_errors.h"

namespace kvern::server::anthropic {

inline constexpr FieldNames kFields{.prompt = "messages", .max_new_tokens = "max_tokens"};

/// For a body or for an event of a stream. The message names the field, since nothing else does.
json::object error_json(const ApiError& error, const std::string& request_id);

/// The type that belongs to the status; 503 becomes 529, which is what "overloaded" is here.
HttpResponse error_response(const ApiError& error, const std::string& request_id);
/// The same before a request has an id: for refusals of the transport and for missing keys.
HttpResponse plain_error_response(const ApiError& error);

}  // namespace kvern::server::anthropic
