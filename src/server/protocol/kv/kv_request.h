// What requests for saved prefixes may bring: nothing is passed over in silence.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/http/exchange.h"
#include "server/http/http_error.h"

namespace kvern::server::kv {

enum class BodyUse : uint8_t { kNone, kRead };

/// What a route reads beside its path.
struct RouteTakes {
  BodyUse body = BodyUse::kNone;
  std::vector<std::string_view> query = {"cache_salt"};
};

/// kUnsupported names the first thing that the route does not read: a parameter of the query, or a field of
/// the body (an empty object is none). kInvalidArgument: a parameter twice. kCorrupt: a body that is no JSON
/// where none is read.
Status check_request(const HttpRequest& request, const RouteTakes& takes);

/// Of a request that was read and found wrong.
void respond_wrong_request(Exchange& exchange, const Error& error);

}  // namespace kvern::server::kv
