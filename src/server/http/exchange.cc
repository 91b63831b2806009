#include "server/http/exchange.h"

#include "server/http/header_names.h"

namespace kvern::server {
namespace {

std::optional<std::string_view> first_of(const std::vector<std::pair<std::string, std::string>>& values,
                                         std::string_view name,
                                         bool (*same)(std::string_view, std::string_view)) {
  for (const auto& [key, value] : values)
    if (same(key, name)) return value;
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  return first_of(headers, name, same_header_name);
}

std::optional<std::string_view> HttpRequest::query_value(std::string_view name) const {
  return first_of(query, name, [](std::string_view a, std::string_view b) { return a == b; });
}

}  // namespace kvern::server
