#include "server/http/router.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"

namespace kvern::server {

Router::Pattern Router::parse(std::string_view pattern) {
  KVERN_CHECK(pattern.starts_with('/'));
  Pattern parsed;
  for (size_t at = 1; at <= pattern.size();) {
    const size_t end = std::min(pattern.find('/', at), pattern.size());
    const std::string_view part = pattern.substr(at, end - at);
    const bool open = part.size() > 2 && part.front() == '{' && part.back() == '}';
    parsed.parts.emplace_back(part);
    parsed.open.push_back(open);
    parsed.rest = open && part[part.size() - 2] == '*';
    KVERN_CHECK(!parsed.rest || end == pattern.size());
    at = end + 1;
  }
  return parsed;
}

bool Router::matches(const Pattern& pattern, const std::vector<std::string>& segments) {
  const size_t parts = pattern.parts.size();
  if (pattern.rest ? segments.size() < parts : segments.size() != parts) return false;
  for (size_t i = 0; i < parts; ++i) {
    if (pattern.open[i] ? segments[i].empty() : segments[i] != pattern.parts[i]) return false;
  }
  return true;
}

bool Router::beats(const Pattern& a, const Pattern& b) {
  // The first part in which one is literal and the other open decides.
  for (size_t i = 0; i < std::min(a.parts.size(), b.parts.size()); ++i) {
    if (a.open[i] != b.open[i]) return b.open[i];
  }
  return !a.rest && b.rest;
}

void Router::add(std::string_view method, std::string_view pattern, Handler handler, RouteOptions options) {
  Pattern parsed = parse(pattern);
  for (size_t i = 0; i < routes_.size(); ++i) {
    const bool same_shape = patterns_[i].open == parsed.open && patterns_[i].rest == parsed.rest;
    bool same_path = same_shape;
    for (size_t k = 0; same_path && k < parsed.parts.size(); ++k)
      same_path = parsed.open[k] || patterns_[i].parts[k] == parsed.parts[k];
    KVERN_CHECK(!same_path || routes_[i].method != method);
  }
  routes_.push_back({.method = std::string(method),
                     .pattern = std::string(pattern),
                     .handler = std::move(handler),
                     .options = options});
  patterns_.push_back(std::move(parsed));
}

Router::Match Router::find(std::string_view method, const std::vector<std::string>& segments) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  Match match;
  const Pattern* best = nullptr;
  std::set<std::string> allowed;
  for (size_t i = 0; i < routes_.size(); ++i) {
    if (!matches(patterns_[i], segments)) continue;
    allowed.insert(routes_[i].method);
    if (routes_[i].method == "GET") allowed.insert("HEAD");
    if (routes_[i].method != wanted) continue;
    if (best != nullptr && !beats(patterns_[i], *best)) continue;
    best = &patterns_[i];
    match.route = &routes_[i];
  }
  if (match.route == nullptr) {
    match.allowed.assign(allowed.begin(), allowed.end());
    return match;
  }
  for (size_t i = 0; i < best->parts.size(); ++i) {
    if (!best->open[i]) continue;
    std::string value = segments[i];
    if (best->rest && i + 1 == best->parts.size()) {
      for (size_t k = i + 1; k < segments.size(); ++k) value += "/" + segments[k];
    }
    match.path_values.push_back(std::move(value));
  }
  return match;
}

}  // namespace kvern::server
