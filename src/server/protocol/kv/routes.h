// kvern's own routes for saved prefixes: docs/server.md.
#pragma once

#include <functional>
#include <memory>

#include "engine/tiers/saved_prefixes.h"
#include "server/http/router.h"
#include "server/protocol/context.h"
#include "server/protocol/executor.h"
#include "server/protocol/kv/kv_request.h"

namespace kvern::server::kv {

/// They outlive the router.
struct Executors {
  Executor& patient;  ///< runs what waits for disks, so that no worker and no answer does
  /// Runs what waits for clients that read slowly, as many at a time as ProtocolLimits::max_exports says.
  Executor& transfers;
};

/// A handler that has prefixes to work on.
using SavedHandler = std::function<void(engine::SavedPrefixes& saved, std::shared_ptr<Exchange> exchange)>;

/// Runs it on an executor; where prefixes are not saved, the answer is 501, and 400 where the request brings
/// what is not taken. All outlive the handler.
Handler on_saved(const ProtocolContext& context, Executor& executor, RouteTakes takes, SavedHandler handler);

void add_routes(Router& router, const ProtocolContext& context, const Executors& executors);

}  // namespace kvern::server::kv
