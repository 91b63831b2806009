// llama-server's routes beside generation: GET /props, GET /slots, POST /tokenize, POST /detokenize, POST
// /apply-template. Fields and answers as its README documents them (ggml-org/llama.cpp, tools/server); where
// this server has no such thing, members say so truthfully or are left out. GET /health is the app's.
#pragma once

#include <memory>

#include "server/http/exchange.h"
#include "server/http/router.h"
#include "server/protocol/context.h"

namespace kvern::server::llama {

/// The context outlives the router.
void add_routes(Router& router, const ProtocolContext& context);

}  // namespace kvern::server::llama
