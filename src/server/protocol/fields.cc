#include "server/protocol/fields.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/utf8.h"

namespace kvern::server {
namespace {

/// Clients send megabytes; messages stay short.
constexpr size_t kShownBytes = 40;

std::string shorten(std::string_view text) {
  if (text.size() <= kShownBytes) return replace_invalid_utf8(text);
  text = text.substr(0, kShownBytes);
  text.remove_suffix(incomplete_utf8_suffix(text));
  return replace_invalid_utf8(text) + "\u2026";
}

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message), path);
}

/// The path for a message: the body itself has no name.
std::string shown_path(const std::string& path) { return path.empty() ? "the body" : path; }

std::string range_text(int64_t min, int64_t max) {
  if (max == std::numeric_limits<int64_t>::max())
    return min == std::numeric_limits<int64_t>::min() ? "an integer"
                                                      : fmt::format("an integer of at least {}", min);
  return fmt::format("an integer from {} to {}", min, max);
}

std::string range_text(double min, double max) {
  if (max == std::numeric_limits<double>::max())
    return min == std::numeric_limits<double>::lowest() ? "a finite number"
                                                        : fmt::format("a number of at least {}", min);
  return fmt::format("a number from {} to {}", min, max);
}

template <typename T>
Result<std::optional<T>> optional(Result<T> value) {
  if (!value) return std::unexpected(std::move(value).error());
  return *std::move(value);
}

std::optional<int64_t> integer_of(const json::value& value) {
  if (const int64_t* number = value.if_int64()) return *number;
  const double* number = value.if_double();
  // 2^63 itself does not fit.
  if (number == nullptr || !(std::fabs(*number) < 9223372036854775808.0) || std::trunc(*number) != *number)
    return std::nullopt;
  return static_cast<int64_t>(*number);
}

}  // namespace

std::string describe(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return value.get_bool() ? "true" : "false";
    case json::kind::string:
      return fmt::format("the string \"{}\"", shorten(value.get_string()));
    case json::kind::array:
      return fmt::format("an array of {}", value.get_array().size());
    case json::kind::object:
      return "an object";
    case json::kind::int64:
    case json::kind::uint64:
      return fmt::format("the number {}", json::serialize(value));
    case json::kind::double_:
      return fmt::format("the number {}", value.get_double());
  }
  return {};
}

std::unexpected<Error> wrong_type(const std::string& path, std::string_view expected,
                                  const json::value& got) {
  return invalid(path, fmt::format("{}: expected {}, got {}", shown_path(path), expected, describe(got)));
}

Result<bool> read_boolean(const json::value& value, const std::string& path) {
  if (const bool* flag = value.if_bool()) return *flag;
  return wrong_type(path, "true or false", value);
}

Result<int64_t> read_integer(const json::value& value, const std::string& path, IntegerRange range) {
  const auto number = integer_of(value);
  if (!number || *number < range.min || *number > range.max)
    return wrong_type(path, range_text(range.min, range.max), value);
  return *number;
}

Result<double> read_number(const json::value& value, const std::string& path, NumberRange range) {
  if (value.is_number()) {
    const auto number = value.to_number<double>();
    if (number >= range.min && number <= range.max) return number;
  }
  return wrong_type(path, range_text(range.min, range.max), value);
}

Result<std::string> read_string(const json::value& value, const std::string& path) {
  if (const json::string* text = value.if_string()) return std::string(*text);
  return wrong_type(path, "a string", value);
}

Result<ObjectReader> ObjectReader::of(const json::value& value, std::string path) {
  if (const json::object* object = value.if_object()) return ObjectReader(*object, std::move(path));
  return wrong_type(path, "an object", value);
}

std::string ObjectReader::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

const json::value* ObjectReader::take(std::string_view name) {
  known_.push_back(name);
  const json::value* value = object_.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<std::optional<bool>> ObjectReader::boolean(std::string_view name) {
  const json::value* value = take(name);
  if (value == nullptr) return std::nullopt;
  return optional(read_boolean(*value, path_of(name)));
}

Result<std::optional<int64_t>> ObjectReader::integer(std::string_view name, IntegerRange range) {
  const json::value* value = take(name);
  if (value == nullptr) return std::nullopt;
  return optional(read_integer(*value, path_of(name), range));
}

Result<std::optional<double>> ObjectReader::number(std::string_view name, NumberRange range) {
  const json::value* value = take(name);
  if (value == nullptr) return std::nullopt;
  return optional(read_number(*value, path_of(name), range));
}

Result<std::optional<std::string>> ObjectReader::string(std::string_view name) {
  const json::value* value = take(name);
  if (value == nullptr) return std::nullopt;
  return optional(read_string(*value, path_of(name)));
}

Result<const json::array*> ObjectReader::array(std::string_view name) {
  const json::value* value = take(name);
  if (value == nullptr) return nullptr;
  if (const json::array* array = value->if_array()) return array;
  return wrong_type(path_of(name), "an array", *value);
}

Result<const json::object*> ObjectReader::object(std::string_view name) {
  const json::value* value = take(name);
  if (value == nullptr) return nullptr;
  if (const json::object* object = value->if_object()) return object;
  return wrong_type(path_of(name), "an object", *value);
}

Result<std::optional<std::string>> ObjectReader::word(std::string_view name,
                                                      std::initializer_list<std::string_view> words) {
  const json::value* value = take(name);
  if (value == nullptr) return std::nullopt;
  if (const json::string* text = value->if_string()) {
    if (std::ranges::find(words, std::string_view(*text)) != words.end()) return std::string(*text);
  }
  std::string expected;
  for (const std::string_view word : words)
    expected += fmt::format("{}\"{}\"", expected.empty() ? "" : " or ", word);
  return wrong_type(path_of(name), expected, *value);
}

Result<std::string> ObjectReader::required_string(std::string_view name) {
  const json::value* value = object_.if_contains(name);
  known_.push_back(name);
  if (value == nullptr) {
    return invalid(path_of(name), fmt::format("{}: expected a string, but it is missing", path_of(name)));
  }
  return read_string(*value, path_of(name));
}

Status ObjectReader::refuse(std::string_view name, std::string_view reason,
                            std::initializer_list<std::string_view> harmless) {
  const json::value* value = take(name);
  if (value == nullptr) return Ok{};
  // Harmless values are small; a large one is none of them.
  if (!value->is_structured() ||
      (value->is_array() ? value->get_array().size() : value->get_object().size()) < 2) {
    if (std::ranges::find(harmless, to_json(*value)) != harmless.end()) return Ok{};
  }
  return fail(ErrorCode::kUnsupported, fmt::format("{} is not supported: {}", path_of(name), reason),
              path_of(name));
}

Status ObjectReader::finish() const {
  for (const auto& item : object_) {
    const std::string_view name = item.key();
    if (std::ranges::find(known_, name) != known_.end()) continue;
    const std::string path = path_of(shorten(name));
    return fail(ErrorCode::kUnsupported, fmt::format("{} is no parameter that this server knows", path),
                path);
  }
  return Ok{};
}

}  // namespace kvern::server
