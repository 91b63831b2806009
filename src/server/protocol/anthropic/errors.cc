#include "server/protocol/anthropic/errors.h"

namespace kvern::server::anthropic {
namespace {

constexpr int kUnavailable = 503;
constexpr int kOverloaded = 529;

std::string_view type_of(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 504:
      return "timeout_error";
    case kUnavailable:
    case kOverloaded:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

}  // namespace

json::object error_json(const ApiError& error, const std::string& request_id) {
  json::object body{{"type", "error"},
                    {"error", json::object{{"type", type_of(error.status)}, {"message", error.message}}}};
  if (!request_id.empty()) body["request_id"] = request_id;
  return body;
}

HttpResponse error_response(const ApiError& error, const std::string& request_id) {
  // Retry-After and the like are those of every API.
  HttpResponse response = server::error_response(error);
  response.body = to_json(error_json(error, request_id));
  if (response.status == kUnavailable) response.status = kOverloaded;
  if (!request_id.empty()) response.headers.emplace_back("request-id", request_id);
  return response;
}

HttpResponse plain_error_response(const ApiError& error) { return error_response(error, ""); }

}  // namespace kvern::server::anthropic
