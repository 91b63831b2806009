// Which handler answers a request: method and path patterns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"
#include "server/http/http_error.h"

namespace kvern::server {

/// Who may ask.
enum class RouteAccess : uint8_t {
  kKey,      ///< a valid API key, when the server has keys
  kMetrics,  ///< as kKey, unless the operator opened the metrics
  kOpen,     ///< everybody
};

struct RouteOptions {
  RouteAccess access = RouteAccess::kKey;
  /// Longest body that is read; 0 = the server's limit.
  size_t max_body_bytes = 0;
  /// Of errors that come before the handler is asked.
  ErrorAnswer error_answer = error_response;
};

struct Route {
  std::string method;
  std::string pattern;  ///< also its name in logs and metrics
  Handler handler;
  RouteOptions options;
};

/// Filled before use, immutable then; then thread-safe.
class Router {
 public:
  /// `pattern` begins with "/". A part "{name}" takes one non-empty segment; "{name*}", as the last part,
  /// takes all that is left (names of models have slashes). Two routes that take the same path and method are
  /// a programming error. A route for GET also answers HEAD.
  void add(std::string_view method, std::string_view pattern, Handler handler, RouteOptions options = {});

  struct Match {
    const Route* route = nullptr;          ///< borrowed from the router; null when there is none
    std::vector<std::string> path_values;  ///< what the open parts took, decoded
    /// Where the path exists with other methods only: these, sorted ("GET", "HEAD", "POST"), for Allow.
    std::vector<std::string> allowed;
  };
  /// `segments`: the path split at its slashes, each part decoded: "/a/b%2Fc" is {"a", "b/c"}. Segments are
  /// compared as text: "." and ".." have no meaning. Literal parts win over open ones, the longest first.
  Match find(std::string_view method, const std::vector<std::string>& segments) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  struct Pattern {
    std::vector<std::string> parts;
    std::vector<bool> open;
    bool rest = false;  ///< the last part takes all that is left
  };
  static Pattern parse(std::string_view pattern);
  static bool matches(const Pattern& pattern, const std::vector<std::string>& segments);
  static bool beats(const Pattern& a, const Pattern& b);

  std::vector<Route> routes_;
  std::vector<Pattern> patterns_;  // of routes_
};

}  // namespace kvern::server
