// Readers come back: GET .../{id}?stream=true&starting_after=N.
#pragma once

#include <memory>
#include <string>

#include "server/http/exchange.h"
#include "server/protocol/runs/run.h"

namespace kvern::server {

/// Whether the request wants a stream of events (`stream`), or names one (`starting_after`, the header
/// Last-Event-ID that browsers send).
bool wants_events(const HttpRequest& request);

/// Sends the events behind the one that the request names, and follows. What is wrong with the query is
/// answered with 400.
void send_events(Run& run, const std::shared_ptr<Exchange>& reader);

}  // namespace kvern::server
