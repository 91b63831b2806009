#include "model/config/json_fields.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "model/printable.h"

namespace kvern::model {
namespace {

std::optional<int64_t> as_integer(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  return std::nullopt;
}

std::optional<double> as_finite(const json::value& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  if (value.is_double() && std::isfinite(value.get_double())) return value.get_double();
  return std::nullopt;
}

}  // namespace

std::string json_excerpt(const json::value& value) { return printable(to_json(value)); }

const json::value* JsonFields::find(std::string_view key) const {
  const json::value* value = object_.if_contains(json::string_view(key.data(), key.size()));
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::unexpected<Error> JsonFields::error(ErrorCode code, std::string_view key,
                                         std::string_view reason) const {
  return fail(code, fmt::format("key {}: {}", printable(full_name(key)), reason), path_);
}

std::unexpected<Error> JsonFields::wrong_type(std::string_view key, std::string_view wanted) const {
  return error(ErrorCode::kCorrupt, key,
               fmt::format("must be {}, but is {}", wanted, json_excerpt(*find(key))));
}

Result<std::optional<int64_t>> JsonFields::integer(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr) return std::optional<int64_t>();
  if (const auto number = as_integer(*value)) return number;
  return wrong_type(key, "an integer");
}

Result<std::optional<double>> JsonFields::number(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr) return std::optional<double>();
  if (const auto number = as_finite(*value)) return number;
  return wrong_type(key, "a finite number");
}

Result<std::optional<bool>> JsonFields::boolean(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  if (value->is_bool()) return std::optional<bool>(value->get_bool());
  return wrong_type(key, "true or false");
}

Result<std::optional<std::string>> JsonFields::text(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr) return std::optional<std::string>();
  if (value->is_string()) return std::optional<std::string>(std::string(value->get_string()));
  return wrong_type(key, "a string");
}

Result<std::optional<std::vector<std::string>>> JsonFields::texts(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr) return std::optional<std::vector<std::string>>();
  if (!value->is_array()) return wrong_type(key, "a list of strings");
  std::vector<std::string> out;
  for (const json::value& element : value->get_array()) {
    if (!element.is_string()) return wrong_type(key, "a list of strings");
    out.emplace_back(element.get_string());
  }
  return std::optional(std::move(out));
}

Result<std::optional<std::vector<double>>> JsonFields::numbers(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr) return std::optional<std::vector<double>>();
  if (!value->is_array()) return wrong_type(key, "a list of numbers");
  std::vector<double> out;
  for (const json::value& element : value->get_array()) {
    const auto number = as_finite(element);
    if (!number) return wrong_type(key, "a list of finite numbers");
    out.push_back(*number);
  }
  return std::optional(std::move(out));
}

Result<std::optional<JsonFields>> JsonFields::object(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr) return std::optional<JsonFields>();
  if (!value->is_object()) return wrong_type(key, "an object");
  return std::optional<JsonFields>(std::in_place, value->get_object(), path_, full_name(key) + ".");
}

Result<int64_t> JsonFields::required_integer(std::string_view key) const {
  KVERN_TRY(const auto value, integer(key));
  if (!value) return error(ErrorCode::kCorrupt, key, "is missing");
  return *value;
}

Result<double> JsonFields::required_number(std::string_view key) const {
  KVERN_TRY(const auto value, number(key));
  if (!value) return error(ErrorCode::kCorrupt, key, "is missing");
  return *value;
}

}  // namespace kvern::model
