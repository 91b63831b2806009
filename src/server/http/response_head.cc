#include "server/http/response_head.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/check.h"

namespace kvern::server {
namespace {

// RFC 9110, section 15; RFC 6585 for 429 and 431; RFC 4918 for 507.
constexpr std::pair<int, std::string_view> kReasons[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
    {529, "Overloaded"},
};

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    out += (byte < 0x20 && c != '\t') || byte == 0x7F ? ' ' : c;
  }
  out += "\r\n";
}

bool may_have_body(int status) { return status >= 200 && status != 204 && status != 304; }

}  // namespace

std::string response_head(const HttpResponse& response, const HttpHeaders& extra, const Framing& framing,
                          std::chrono::system_clock::time_point now) {
  std::string out = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
  const std::tm utc = fmt::gmtime(std::chrono::system_clock::to_time_t(now));
  fmt::format_to(std::back_inserter(out), "Date: {:%a, %d %b %Y %H:%M:%S} GMT\r\n", utc);
  if (may_have_body(response.status)) {
    if (!response.content_type.empty()) append_header(out, "Content-Type", response.content_type);
    if (framing.content_length) {
      append_header(out, "Content-Length", std::to_string(*framing.content_length));
    } else if (!framing.http_1_0) {
      append_header(out, "Transfer-Encoding", "chunked");
    }
  }
  for (const HttpHeaders* headers : {&response.headers, &extra})
    for (const auto& [name, value] : *headers) append_header(out, name, value);
  append_header(out, "Connection", framing.keep_alive ? "keep-alive" : "close");
  out += "\r\n";
  return out;
}

std::string chunk(std::string_view bytes) {
  KVERN_CHECK(!bytes.empty());
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

std::string_view reason_phrase(int status) {
  const auto found = std::ranges::find(kReasons, status, &std::pair<int, std::string_view>::first);
  return found == std::end(kReasons) ? "Unknown" : found->second;
}

}  // namespace kvern::server
