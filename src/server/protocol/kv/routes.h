// kvern's own routes for saved prefixes: docs/server.md.
#pragma once

#include "server/http/router.h"
#include "server/protocol/context.h"
#include "server/protocol/executor.h"

namespace kvern::server::kv {

/// `patient` runs what waits for disks, so that no worker and no answer does. All outlive the router.
void add_routes(Router& router, const ProtocolContext& context, Executor& patient);

}  // namespace kvern::server::kv
