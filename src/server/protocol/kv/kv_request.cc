#include "server/protocol/kv/kv_request.h"

#include "base/json.h"
#include "server/protocol/fields.h"
#include "server/protocol/kv/session_request.h"
#include "server/protocol/query_fields.h"

namespace kvern::server::kv {
Status check_request(const HttpRequest& request, const RouteTakes& takes) {
  KVERN_TRY_STATUS(check_query(request, takes.query));
  if (takes.body == BodyUse::kRead || request.body.empty()) return Ok{};
  KVERN_TRY(const json::value value, parse_json(request.body, ""));
  KVERN_TRY(const ObjectReader body, ObjectReader::of(value, ""));
  return body.finish();
}

void respond_wrong_request(Exchange& exchange, const Error& error) {
  exchange.respond(error_response(request_error(error, kSessionFields)));
}

}  // namespace kvern::server::kv
