// OpenAI's Responses API: POST /v1/responses, POST /v1/responses/input_tokens, GET and DELETE
// /v1/responses/{id}, GET /v1/responses/{id}/input_items, POST /v1/responses/{id}/cancel.
#pragma once

#include <memory>

#include "server/http/exchange.h"
#include "server/http/router.h"
#include "server/protocol/context.h"
#include "server/protocol/responses/response_store.h"

namespace kvern::server::responses {

/// Makes the store of finished responses, which the routes own. The context outlives the router.
void add_routes(Router& router, const ProtocolContext& context);

/// The handlers by themselves. Every error becomes an answer.
void create_response(const ProtocolContext& context, std::shared_ptr<ResponseStore> store,
                     std::shared_ptr<Exchange> exchange);
void count_input_tokens(const ProtocolContext& context, ResponseStore& store, Exchange& exchange);

}  // namespace kvern::server::responses
