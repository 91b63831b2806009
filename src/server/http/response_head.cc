#include "server/http/response_head.h"

#include <ctime>
#include <iterator>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/check.h"

namespace kvern::server {
namespace {

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
  // RFC 9110, section 15; RFC 6585 for 429 and 431.
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 529:
      return "Overloaded";
    default:
      return "Unknown";
  }
}

}  // namespace kvern::server
