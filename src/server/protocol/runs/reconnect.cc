#include "server/protocol/runs/reconnect.h"

#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "server/http/http_error.h"

namespace kvern::server {
namespace {

constexpr const char* kStartingAfter = "starting_after";
constexpr const char* kLastEventId = "Last-Event-ID";

void refuse(Exchange& reader, const std::string& name, std::string_view message) {
  reader.respond(error_response({.status = 400,
                                 .message = fmt::format("{}: {}", name, message),
                                 .param = name,
                                 .code = "invalid_value"}));
}

std::optional<uint64_t> number_of(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

bool wants_events(const HttpRequest& request) {
  return request.query_value("stream").value_or("false") == "true" || request.query_value(kStartingAfter) ||
         request.header(kLastEventId);
}

void send_events(Run& run, const std::shared_ptr<Exchange>& reader) {
  const HttpRequest& request = reader->request();
  if (request.query_value("stream").value_or("true") != "true")
    return refuse(*reader, kStartingAfter, "only allowed when stream is true");
  const auto query = request.query_value(kStartingAfter);
  const auto header = request.header(kLastEventId);
  const std::string name = query ? kStartingAfter : kLastEventId;
  std::optional<uint64_t> after;
  if (query || header) {
    after = number_of(query ? *query : *header);
    if (!after) return refuse(*reader, name, "expected the number of an event");
  }
  if (const Status status = run.follow(reader, after); !status) refuse(*reader, name, status.error().message);
}

}  // namespace kvern::server
