// Prefixes as files: to clients and from them.
#pragma once

#include "server/protocol/kv/routes.h"

namespace kvern::server::kv {

void add_transfer_routes(Router& router, const ProtocolContext& context, const Executors& executors);

}  // namespace kvern::server::kv
