// What can be asked about responses that are stored.
#pragma once

#include <memory>

#include "server/http/exchange.h"
#include "server/protocol/responses/response_store.h"
#include "server/protocol/runs/runs.h"

namespace kvern::server::responses {

/// GET /v1/responses/{id}, also while it is made; with `stream` its events (see reconnect.h). `runs` may be
/// null.
void show_response(const Runs* runs, ResponseStore& store, const std::shared_ptr<Exchange>& exchange);
/// DELETE /v1/responses/{id}; one that is being made is cancelled.
void delete_response(Runs* runs, ResponseStore& store, Exchange& exchange);
/// POST /v1/responses/{id}/cancel: answers with the response when it has ended, as it may have before.
void cancel_response(const Runs& runs, const std::shared_ptr<ResponseStore>& store,
                     std::shared_ptr<Exchange> exchange);
/// GET /v1/responses/{id}/input_items: all items that the response answered, those of the responses before it
/// included; `limit` (1 to 100, 20), `order` ("desc", "asc") and `after` (an id) as the API documents them.
void list_input_items(ResponseStore& store, Exchange& exchange);

}  // namespace kvern::server::responses
