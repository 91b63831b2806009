#include "server/protocol/kv/kv_json.h"

#include <utility>

namespace kvern::server::kv {

json::object prefix_json(const engine::SavedPrefix& prefix) {
  json::object object{{"object", "kv.prefix"},
                      {"name", prefix.name},
                      {"tokens", prefix.tokens},
                      {"usable_tokens", prefix.usable_tokens},
                      {"minimum_tokens", prefix.minimum_tokens},
                      {"bytes", prefix.bytes},
                      {"used", prefix.used_seconds},
                      {"pinned", prefix.pinned}};
  object["expires"] = prefix.expires_seconds > 0 ? json::value(prefix.expires_seconds) : json::value(nullptr);
  return object;
}

json::object session_json(const engine::SavedSession& session) {
  json::object object{{"object", "kv.session"},
                      {"name", session.name},
                      {"created", session.created_seconds},
                      {"tokens", session.tokens.size()}};
  object["prefix"] = session.prefix ? json::value(prefix_json(*session.prefix)) : json::value(nullptr);
  return object;
}

std::string salt_of(const Exchange& exchange) {
  return std::string(exchange.request().query_value("cache_salt").value_or(""));
}

std::string path_value(const Exchange& exchange, size_t n) {
  const auto& values = exchange.request().path_values;
  return n < values.size() ? values[n] : std::string();
}

ApiError no_room(const Error& error) {
  return {.status = 507, .message = error.message, .type = "storage_error", .code = "no_room"};
}

ApiError kv_error(const Error& error) {
  ApiError api = to_api_error(error);
  if (error.code == ErrorCode::kUnsupported) {
    api.status = 501;
    api.type = "not_supported_error";
    api.code = "no_kv_directory";
  }
  return error.code == ErrorCode::kExhausted ? no_room(error) : api;
}

void respond_error(Exchange& exchange, const Error& error) {
  exchange.respond(error_response(kv_error(error)));
}

void respond_nothing_saved(Exchange& exchange) {
  respond_error(exchange, {.code = ErrorCode::kUnsupported,
                           .message = "prefixes are kept in memory alone: start with --kv-dir"});
}

void respond_json(Exchange& exchange, const json::object& body) { exchange.respond({.body = to_json(body)}); }

}  // namespace kvern::server::kv
