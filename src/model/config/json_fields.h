// Typed access to one JSON object of an untrusted file; every error names file and key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kvern::model {

/// Borrowed view of an object. `null` counts as absent everywhere, as in the configurations of transformers.
class JsonFields {
 public:
  /// `prefix` stands before keys in messages, as "rope_scaling.". `path` and `object` outlive this.
  JsonFields(const json::object& object, const std::string& path, std::string prefix = {})
      : object_(object), path_(path), prefix_(std::move(prefix)) {}

  /// Null if absent or null.
  const json::value* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// The key is there and says null, where that means another thing than its absence.
  bool is_null(std::string_view key) const { return object_.contains({key.data(), key.size()}) && !has(key); }

  Result<std::optional<int64_t>> integer(std::string_view key) const;
  Result<std::optional<double>> number(std::string_view key) const;  ///< finite
  Result<std::optional<bool>> boolean(std::string_view key) const;
  Result<std::optional<std::string>> text(std::string_view key) const;
  Result<std::optional<std::vector<std::string>>> texts(std::string_view key) const;
  Result<std::optional<std::vector<double>>> numbers(std::string_view key) const;  ///< finite
  Result<std::optional<JsonFields>> object(std::string_view key) const;

  Result<int64_t> required_integer(std::string_view key) const;
  Result<double> required_number(std::string_view key) const;

  /// An error about `key`, as "key 'rope_scaling.type': reason".
  std::unexpected<Error> error(ErrorCode code, std::string_view key, std::string_view reason) const;

  const json::object& raw() const { return object_; }
  const std::string& path() const { return path_; }
  std::string full_name(std::string_view key) const { return prefix_ + std::string(key); }

 private:
  std::unexpected<Error> wrong_type(std::string_view key, std::string_view wanted) const;

  const json::object& object_;
  const std::string& path_;
  std::string prefix_;
};

/// A JSON value for a message, cut to a line.
std::string json_excerpt(const json::value& value);

}  // namespace kvern::model
