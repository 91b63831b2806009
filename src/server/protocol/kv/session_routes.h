// Conversations that have a name.
#pragma once

#include "server/protocol/kv/routes.h"

namespace kvern::server::kv {

void add_session_routes(Router& router, const ProtocolContext& context, const Executors& executors);

}  // namespace kvern::server::kv
