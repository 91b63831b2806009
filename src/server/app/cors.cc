#include "server/app/cors.h"

#include <algorithm>

namespace kvern::server {

bool CorsPolicy::allows(std::string_view origin) const {
  return std::ranges::any_of(origins_,
                             [&](const std::string& allowed) { return allowed == "*" || allowed == origin; });
}

HttpHeaders CorsPolicy::headers_for(const HttpRequest& request) const {
  if (origins_.empty()) return {};
  // Caches must not give one origin's answer to another.
  HttpHeaders headers{{"Vary", "Origin"}};
  const auto origin = request.header("Origin");
  if (!origin || !allows(*origin)) return headers;
  headers.emplace_back("Access-Control-Allow-Origin", *origin);
  headers.emplace_back("Access-Control-Expose-Headers", "x-request-id, Retry-After");
  return headers;
}

std::optional<HttpResponse> CorsPolicy::preflight(const HttpRequest& request) const {
  const auto origin = request.header("Origin");
  if (request.method != "OPTIONS" || !origin || !request.header("Access-Control-Request-Method") ||
      !allows(*origin))
    return std::nullopt;
  HttpResponse response{.status = 204};
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS");
  // Clients' libraries send headers of their own (x-stainless-...): what is asked for is allowed.
  const auto wanted = request.header("Access-Control-Request-Headers");
  response.headers.emplace_back("Access-Control-Allow-Headers",
                                wanted ? std::string(*wanted) : "Authorization, Content-Type, x-api-key");
  response.headers.emplace_back("Access-Control-Max-Age", "86400");
  return response;
}

}  // namespace kvern::server
