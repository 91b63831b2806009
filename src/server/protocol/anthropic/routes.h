// Anthropic's API: POST /v1/messages, POST /v1/messages/count_tokens. The header anthropic-version may be
// absent or "2023-06-01"; anthropic-beta is not looked at, since what a beta adds to a body is refused by
// name.
#pragma once

#include <memory>

#include "server/http/exchange.h"
#include "server/http/router.h"
#include "server/protocol/context.h"

namespace kvern::server::anthropic {

/// The context outlives the router.
void add_routes(Router& router, const ProtocolContext& context);

/// The handlers by themselves. Every error becomes an answer.
void messages(const ProtocolContext& context, std::shared_ptr<Exchange> exchange);
void count_tokens(const ProtocolContext& context, std::shared_ptr<Exchange> exchange);

}  // namespace kvern::server::anthropic
