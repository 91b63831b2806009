// Saved prefixes and sessions as clients see them, and what their routes have in common.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "engine/tiers/saved_prefixes.h"
#include "server/http/exchange.h"
#include "server/http/http_error.h"

namespace kvern::server::kv {

json::object prefix_json(const engine::SavedPrefix& prefix);
/// Without its tokens.
json::object session_json(const engine::SavedSession& session);

/// `cache_salt` of the query: part of whose prefixes are meant.
std::string salt_of(const Exchange& exchange);
/// The n-th open part of the route's path; empty when there is none.
std::string path_value(const Exchange& exchange, size_t n = 0);

/// What an error of saved prefixes means to a client.
ApiError kv_error(const Error& error);
void respond_error(Exchange& exchange, const Error& error);
/// 501: there is no directory of prefixes.
void respond_nothing_saved(Exchange& exchange);
void respond_json(Exchange& exchange, const json::object& body);

}  // namespace kvern::server::kv
