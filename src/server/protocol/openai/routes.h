// OpenAI's API: POST /v1/chat/completions, POST /v1/completions, GET /v1/models, GET /v1/models/{id}; and our
// extension: GET and DELETE /v1/chat/completions/{id}, for streams that were broken.
//
// Without HTTP (batch files, tests): make a LocalExchange (server/protocol/local_exchange.h) with method,
// path and body, and give it to the handler. It returns as soon as the request is submitted; the exchange's
// callback gets the whole answer, errors included, as an HTTP client would. Any number may run at the same
// time.
#pragma once

#include <memory>

#include "server/http/exchange.h"
#include "server/http/router.h"
#include "server/protocol/context.h"

namespace kvern::server::openai {

/// The context outlives the router.
void add_routes(Router& router, const ProtocolContext& context);

/// The handlers by themselves. Every error becomes an answer.
void chat_completions(const ProtocolContext& context, std::shared_ptr<Exchange> exchange);
void completions(const ProtocolContext& context, std::shared_ptr<Exchange> exchange);

}  // namespace kvern::server::openai
