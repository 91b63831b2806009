// What went wrong with a request, as clients are told: for all protocols.
#pragma once

#include <string_view>

#include "base/result.h"
#include "server/http/http_error.h"

namespace kvern::server {

/// What an API calls the fields that errors of the engine are about.
struct FieldNames {
  std::string_view prompt;
  std::string_view max_new_tokens;
};

/// Of a request that was read and found wrong. kExhausted where "prompt" stands: longer than the context.
ApiError request_error(const Error& error, const FieldNames& names);
/// Of a request that the service refused: names of its fields become the API's. A full queue is 429.
ApiError submit_error(const Error& error, const FieldNames& names);
/// Of a request that ran: what the service told its sink. 504 when its deadline has passed, health_error() of
/// a model whose file was written to.
ApiError run_error(const Error& error);

/// What GenerationService::health() says: no request can run any more. 503 with the code "model_changed" or
/// "engine_failed".
ApiError health_error(const Error& error);

}  // namespace kvern::server
