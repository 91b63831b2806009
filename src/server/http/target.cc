#include "server/http/target.h"

#include <algorithm>

namespace kvern::server {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::unexpected<Error> bad_target(const char* message) {
  return fail(ErrorCode::kInvalidArgument, message, "request target");
}

Result<std::string> decode(std::string_view text) {
  std::optional<std::string> decoded = percent_decode(text);
  if (!decoded) return bad_target("'%' is not followed by two hexadecimal digits");
  if (decoded->find('\0') != std::string::npos) return bad_target("%00 stands for nothing here");
  return *std::move(decoded);
}

std::string with_spaces(std::string_view text) {
  std::string copy(text);
  std::ranges::replace(copy, '+', ' ');
  return copy;
}

Status parse_query(std::string_view text, Target& target) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    KVERN_TRY(std::string name, decode(with_spaces(pair.substr(0, equals))));
    KVERN_TRY(std::string value, decode(with_spaces(pair.substr(std::min(equals + 1, pair.size())))));
    target.query.emplace_back(std::move(name), std::move(value));
  }
  return Ok{};
}

/// "http://host/path" becomes "/path"; others stay.
std::string_view without_authority(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const size_t path = target.find_first_of("/?", scheme.size());
    return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
  }
  return target;
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

Result<Target> parse_target(std::string_view target) {
  if (target == "*") return Target{.path = "*", .segments = {}, .query = {}};
  const auto printable = [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7F; };
  if (!std::ranges::all_of(target, printable)) return bad_target("holds spaces or control characters");
  target = without_authority(target);
  target = target.substr(0, target.find('#'));
  const size_t question = std::min(target.find('?'), target.size());
  std::string_view path = target.substr(0, question);
  if (path.empty() && question < target.size()) path = "/";
  if (!path.starts_with('/')) return bad_target("does not begin with '/'");

  Target parsed;
  for (size_t at = 1; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    KVERN_TRY(std::string segment, decode(path.substr(at, end - at)));
    parsed.path += '/';
    parsed.path += segment;
    parsed.segments.push_back(std::move(segment));
    at = end + 1;
  }
  KVERN_TRY_STATUS(parse_query(target.substr(std::min(question + 1, target.size())), parsed));
  return parsed;
}

}  // namespace kvern::server
