// Cross-origin requests of browsers (WHATWG Fetch, "CORS protocol"): refused unless the operator names the
// origins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/http/exchange.h"

namespace kvern::server {

/// Immutable, thread-safe.
class CorsPolicy {
 public:
  /// "https://app.example", or "*" for every one. None: no request is answered as a browser would need it.
  explicit CorsPolicy(std::vector<std::string> origins) : origins_(std::move(origins)) {}

  /// Headers for the answer to this request.
  HttpHeaders headers_for(const HttpRequest& request) const;
  /// The answer to a preflight, if this request is one and its origin may ask; needs no key, since browsers
  /// send none with it.
  std::optional<HttpResponse> preflight(const HttpRequest& request) const;

 private:
  bool allows(std::string_view origin) const;
  std::vector<std::string> origins_;
};

}  // namespace kvern::server
