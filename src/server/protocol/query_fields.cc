#include "server/protocol/query_fields.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace kvern::server {
namespace {

constexpr size_t kShownBytes = 100;

}  // namespace

Status check_query(const HttpRequest& request, std::span<const std::string_view> known) {
  for (auto at = request.query.begin(); at != request.query.end(); ++at) {
    const std::string name = at->first.substr(0, kShownBytes);
    if (std::ranges::find(known, std::string_view(at->first)) == known.end()) {
      return fail(ErrorCode::kUnsupported, fmt::format("{} is no parameter that this route knows", name),
                  name);
    }
    const bool again =
        std::any_of(request.query.begin(), at, [&](const auto& other) { return other.first == at->first; });
    if (again) return fail(ErrorCode::kInvalidArgument, fmt::format("{}: given twice", name), name);
  }
  return Ok{};
}

Result<bool> query_flag(const HttpRequest& request, std::string_view name) {
  const std::string_view value = request.query_value(name).value_or("false");
  if (value == "true" || value == "false") return value == "true";
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: expected true or false, got \"{}\"", name, value.substr(0, kShownBytes)),
              std::string(name));
}

}  // namespace kvern::server
