// The prefixes that a client has saved: counted, listed, shown, kept, removed.
#pragma once

#include "server/protocol/kv/routes.h"

namespace kvern::server::kv {

void add_entry_routes(Router& router, const ProtocolContext& context, const Executors& executors);

}  // namespace kvern::server::kv
