// Typed access to the members of JSON objects, with errors that name the place ("model.merges[3]").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace kvern::text {

/// A JSON value and the path by which it was reached. Borrows the value and `where`.
class JsonField {
 public:
  /// `value` may be null: absent.
  JsonField(const json::value* value, std::string path, const std::string& where)
      : value_(value), path_(std::move(path)), where_(&where) {}

  const std::string& path() const { return path_; }
  const std::string& where() const { return *where_; }
  /// Neither absent nor null.
  bool present() const { return value_ != nullptr && !value_->is_null(); }

  /// A member of an object; absent when there is none, or when this is no object.
  JsonField member(std::string_view key) const;
  JsonField element(size_t index) const;

  Result<const json::object*> as_object() const;
  Result<const json::array*> as_array() const;
  Result<std::string_view> as_string() const;
  Result<bool> as_bool() const;
  /// Any JSON number that is a whole number in the range.
  Result<int64_t> as_integer() const;
  /// A finite number.
  Result<double> as_number() const;

  Result<bool> bool_or(bool otherwise) const { return present() ? as_bool() : Result<bool>(otherwise); }
  Result<std::string_view> string_or(std::string_view otherwise) const {
    return present() ? as_string() : Result<std::string_view>(otherwise);
  }

  /// Errors about this place.
  std::unexpected<Error> corrupt(std::string_view reason) const;
  std::unexpected<Error> unsupported(std::string_view reason) const;

 private:
  std::unexpected<Error> expected(std::string_view kind) const;

  const json::value* value_;
  std::string path_;
  const std::string* where_;
};

}  // namespace kvern::text
