// Which API a client speaks, where that has to be known before or without a route.
#pragma once

#include "server/http/exchange.h"
#include "server/http/http_error.h"

namespace kvern::server {

/// How errors are said to whoever sends this request: as Anthropic's API does below its paths and to its
/// clients, which say its version; else as OpenAI's does.
ErrorAnswer error_answer_for(const HttpRequest& request);

}  // namespace kvern::server
