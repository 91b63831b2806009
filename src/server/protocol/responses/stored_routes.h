// What can be asked about responses that are stored.
#pragma once

#include "server/http/exchange.h"
#include "server/protocol/responses/response_store.h"

namespace kvern::server::responses {

/// GET /v1/responses/{id}. Streams of stored responses are refused by name.
void show_response(ResponseStore& store, Exchange& exchange);
/// DELETE /v1/responses/{id}.
void delete_response(ResponseStore& store, Exchange& exchange);
/// GET /v1/responses/{id}/input_items: all items that the response answered, those of the responses before it
/// included; `limit` (1 to 100, 20), `order` ("desc", "asc") and `after` (an id) as the API documents them.
void list_input_items(ResponseStore& store, Exchange& exchange);

}  // namespace kvern::server::responses
