#include "store/remote/redis_url.h"

#include <charconv>
#include <optional>

namespace kvern::store {
namespace {

constexpr int kMostDatabases = 1 << 20;

std::unexpected<Error> wrong(const char* what) {
  return fail(ErrorCode::kInvalidArgument,
              std::string(what) +
                  "; expected redis://[user:password@]host[:port][/database], rediss://… for TLS, or "
                  "unix:///path[?db=n]");
}

std::optional<int> digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const auto high = digit_of(text[i + 1]);
    const auto low = digit_of(text[i + 2]);
    if (!high || !low) return std::nullopt;
    out += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return out;
}

template <typename Number>
bool read_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool read_database(std::string_view text, int& database) {
  if (text.empty()) return true;
  return read_number(text, database) && database >= 0 && database < kMostDatabases;
}

bool read_login(std::string_view login, RedisUrl& url) {
  const size_t colon = login.find(':');
  // Without a colon it is a password, as other clients read it too.
  const auto user = unescaped(colon == std::string_view::npos ? "" : login.substr(0, colon));
  const auto password = unescaped(colon == std::string_view::npos ? login : login.substr(colon + 1));
  if (!user || !password) return false;
  url.user = *user;
  url.password = *password;
  return true;
}

bool read_host(std::string_view text, RedisUrl& url) {
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    url.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const size_t colon = text.find(':');
    url.host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (url.host.empty()) return false;
  if (rest.empty()) return true;
  return rest.front() == ':' && read_number(rest.substr(1), url.port) && url.port != 0;
}

}  // namespace

std::string RedisUrl::to_string() const {
  const std::string login = user.empty() ? "" : user + "@";
  if (!socket.empty())
    return "unix://" + login + socket + (database > 0 ? "?db=" + std::to_string(database) : "");
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return (tls ? "rediss://" : "redis://") + login + name + ":" + std::to_string(port) + "/" +
         std::to_string(database);
}

Result<RedisUrl> parse_redis_url(std::string_view text) {
  RedisUrl url;
  const size_t scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) return wrong("it has no scheme");
  const std::string_view scheme = text.substr(0, scheme_end);
  std::string_view rest = text.substr(scheme_end + 3);
  const bool socket = scheme == "unix";
  url.tls = scheme == "rediss";
  if (!socket && !url.tls && scheme != "redis") return wrong("its scheme is unknown");
  // A password may have any character, also "/" or "@" where somebody did not escape it.
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    if (!read_login(rest.substr(0, at), url)) return wrong("an escape in its user or password is wrong");
    rest = rest.substr(at + 1);
  }
  if (socket) {
    const size_t query = rest.find("?db=");
    if (query != std::string_view::npos) {
      if (!read_database(rest.substr(query + 4), url.database)) return wrong("its database is no number");
      rest = rest.substr(0, query);
    }
    if (!rest.starts_with('/')) return wrong("the path of its socket does not begin with '/'");
    url.socket = rest;
    return url;
  }
  const size_t slash = rest.find('/');
  if (slash != std::string_view::npos && !read_database(rest.substr(slash + 1), url.database))
    return wrong("its database is no number");
  if (!read_host(rest.substr(0, slash), url)) return wrong("its host or port is wrong");
  return url;
}

}  // namespace kvern::store
