#include "server/http/http_error.h"

namespace kvern::server {
namespace {

std::string type_of(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    case 505:  // of the client's making, as those below 500
      return "invalid_request_error";
    default:
      return status < 500 ? "invalid_request_error" : "server_error";
  }
}

json::value or_null(const std::optional<std::string>& text) {
  return text ? json::value(*text) : json::value(nullptr);
}

int status_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kCorrupt:
    case ErrorCode::kUnsupported:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kExhausted:
      return error.retryable ? 503 : 400;
    case ErrorCode::kCancelled:
      return 503;
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      break;
  }
  return 500;
}

}  // namespace

ApiError to_api_error(const Error& error) {
  ApiError api{.status = status_of(error), .message = error.message};
  if (!error.where.empty() && api.status < 500) api.param = error.where;
  return api;
}

json::object error_json(const ApiError& error) {
  json::object inner;
  inner["message"] = error.message;
  inner["type"] = error.type.empty() ? type_of(error.status) : error.type;
  inner["param"] = or_null(error.param);
  inner["code"] = or_null(error.code);
  return json::object{{"error", std::move(inner)}};
}

HttpResponse error_response(const ApiError& error) {
  HttpResponse response{.status = error.status, .body = to_json(error_json(error))};
  if (error.status == 429 || error.status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace kvern::server
