#include "text/json_fields.h"

#include <cmath>

#include <fmt/format.h>

namespace kvern::text {

JsonField JsonField::member(std::string_view key) const {
  const json::value* found = nullptr;
  if (value_ != nullptr && value_->is_object()) found = value_->get_object().if_contains(key);
  return {found, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key), *where_};
}

JsonField JsonField::element(size_t index) const {
  const json::value* found = nullptr;
  if (value_ != nullptr && value_->is_array()) found = value_->get_array().if_contains(index);
  return {found, fmt::format("{}[{}]", path_, index), *where_};
}

Result<const json::object*> JsonField::as_object() const {
  if (value_ == nullptr || !value_->is_object()) return expected("an object");
  return &value_->get_object();
}

Result<const json::array*> JsonField::as_array() const {
  if (value_ == nullptr || !value_->is_array()) return expected("an array");
  return &value_->get_array();
}

Result<std::string_view> JsonField::as_string() const {
  if (value_ == nullptr || !value_->is_string()) return expected("a string");
  return std::string_view(value_->get_string());
}

Result<bool> JsonField::as_bool() const {
  if (value_ == nullptr || !value_->is_bool()) return expected("true or false");
  return value_->get_bool();
}

Result<int64_t> JsonField::as_integer() const {
  if (value_ == nullptr || !value_->is_number()) return expected("a whole number");
  json::error_code error;
  const auto number = value_->to_number<int64_t>(error);
  if (error) return expected("a whole number");
  return number;
}

Result<double> JsonField::as_number() const {
  if (value_ == nullptr || !value_->is_number()) return expected("a number");
  const auto number = value_->to_number<double>();
  if (!std::isfinite(number)) return expected("a finite number");
  return number;
}

std::unexpected<Error> JsonField::corrupt(std::string_view reason) const {
  return fail(ErrorCode::kCorrupt, fmt::format("{}: {}", path_, reason), *where_);
}

std::unexpected<Error> JsonField::unsupported(std::string_view reason) const {
  return fail(ErrorCode::kUnsupported, fmt::format("{}: {}", path_, reason), *where_);
}

std::unexpected<Error> JsonField::expected(std::string_view kind) const {
  if (value_ == nullptr) return corrupt(fmt::format("absent; expected {}", kind));
  return corrupt(fmt::format("expected {}, found {}", kind, to_string(value_->kind())));
}

}  // namespace kvern::text
