#include "base/json.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/utf8.h"

namespace kvern {
namespace {

/// Where a byte stands for a person: "byte 12 (line 2, column 3)", counted from 1 except the byte.
std::string place_of(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::ranges::count(before, '\n');
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? offset + 1 : offset - newline;
  return fmt::format("byte {} (line {}, column {})", offset, line, column);
}

std::unexpected<Error> not_json(std::string_view text, size_t offset, std::string_view reason,
                                const std::string& where) {
  return fail(ErrorCode::kCorrupt, fmt::format("not valid JSON at {}: {}", place_of(text, offset), reason),
              where);
}

/// Replaces NaN and infinities, which JSON does not have, by null; the value is as deep as its maker made it.
void drop_non_finite(json::value& value) {
  if (const double* number = value.if_double()) {
    if (!std::isfinite(*number)) value = nullptr;
  } else if (json::array* array = value.if_array()) {
    for (json::value& item : *array) drop_non_finite(item);
  } else if (json::object* object = value.if_object()) {
    for (auto& item : *object) drop_non_finite(item.value());
  }
}

bool has_non_finite(const json::value& value) {
  if (const double* number = value.if_double()) return !std::isfinite(*number);
  if (const json::array* array = value.if_array()) return std::ranges::any_of(*array, has_non_finite);
  if (const json::object* object = value.if_object())
    return std::ranges::any_of(*object, [](const auto& item) { return has_non_finite(item.value()); });
  return false;
}

}  // namespace

Result<json::value> parse_json(std::string_view text, const std::string& where, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes)
    return fail(ErrorCode::kExhausted,
                fmt::format("{} bytes of JSON; at most {} are read", text.size(), limits.max_bytes), where);
  json::parse_options options;
  options.max_depth = limits.max_depth;
  json::stream_parser parser({}, options);
  json::error_code error;
  const size_t used = parser.write_some(text.data(), text.size(), error);
  if (error == json::error::too_deep)
    return not_json(text, used, fmt::format("nested deeper than {} levels", limits.max_depth), where);
  if (error) return not_json(text, used, error.message(), where);
  if (used < text.size()) return not_json(text, used, "more text after the end of the value", where);
  parser.finish(error);
  if (error) return not_json(text, text.size(), "the text ends before the value does", where);
  return parser.release();
}

std::string to_json(const json::value& value) {
  if (has_non_finite(value)) {
    json::value finite = value;
    drop_non_finite(finite);
    return to_json(finite);
  }
  std::string text = json::serialize(value);
  // Outside strings there is only ASCII, so a repair of the text is a repair of its strings.
  return is_valid_utf8(text) ? text : replace_invalid_utf8(text);
}

}  // namespace kvern
