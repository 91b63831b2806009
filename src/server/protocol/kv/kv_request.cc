#include "server/protocol/kv/kv_request.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/json.h"
#include "server/protocol/fields.h"
#include "server/protocol/kv/session_request.h"

namespace kvern::server::kv {
namespace {

constexpr size_t kShownBytes = 100;

Status check_query(const HttpRequest& request, const RouteTakes& takes) {
  for (auto at = request.query.begin(); at != request.query.end(); ++at) {
    const std::string name = at->first.substr(0, kShownBytes);
    if (std::ranges::find(takes.query, std::string_view(at->first)) == takes.query.end())
      return fail(ErrorCode::kUnsupported, fmt::format("{} is no parameter that this route knows", name),
                  name);
    const bool again =
        std::any_of(request.query.begin(), at, [&](const auto& other) { return other.first == at->first; });
    if (again) return fail(ErrorCode::kInvalidArgument, fmt::format("{}: given twice", name), name);
  }
  return Ok{};
}

}  // namespace

Status check_request(const HttpRequest& request, const RouteTakes& takes) {
  KVERN_TRY_STATUS(check_query(request, takes));
  if (takes.body == BodyUse::kRead || request.body.empty()) return Ok{};
  KVERN_TRY(const json::value value, parse_json(request.body, ""));
  KVERN_TRY(const ObjectReader body, ObjectReader::of(value, ""));
  return body.finish();
}

Result<bool> query_flag(const HttpRequest& request, std::string_view name) {
  const std::string_view value = request.query_value(name).value_or("false");
  if (value == "true" || value == "false") return value == "true";
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: expected true or false, got \"{}\"", name, value.substr(0, kShownBytes)),
              std::string(name));
}

void respond_wrong_request(Exchange& exchange, const Error& error) {
  exchange.respond(error_response(request_error(error, kSessionFields)));
}

}  // namespace kvern::server::kv
