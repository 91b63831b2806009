// Errors as OpenAI's clients read them: {"error": {"message", "type", "param", "code"}}.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "server/http/exchange.h"

namespace kvern::server {

struct ApiError {
  int status = 500;
  std::string message;
  /// "invalid_request_error", "authentication_error", ...; empty: what belongs to the status.
  std::string type = {};
  std::optional<std::string> param = {};  ///< the field of the request that is wrong
  std::optional<std::string> code = {};   ///< for programs: "context_length_exceeded", ...
};

/// What an error of the engine means to a client: the caller's fault is 400 (404 for what does not exist),
/// what may work later 503, all else 500. `where` becomes `param`.
ApiError to_api_error(const Error& error);

/// {"error": {...}}, for a body or for an event of a stream.
json::object error_json(const ApiError& error);

/// With Retry-After where the status is one that passes (429, 503).
HttpResponse error_response(const ApiError& error);
/// How an API says an error; error_response unless it has a way of its own.
using ErrorAnswer = HttpResponse (*)(const ApiError& error);

}  // namespace kvern::server
