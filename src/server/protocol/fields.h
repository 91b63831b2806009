// Reads JSON bodies member by member. Every error names the member by its path ("messages[2].content"), what
// was expected and what is there; nothing that a client wrote is ignored.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kvern::server {

/// Both ends belong to it.
struct IntegerRange {
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
};
struct NumberRange {
  double min = std::numeric_limits<double>::lowest();
  double max = std::numeric_limits<double>::max();
};

/// What a value is, short enough for a message: `the string "abc…"`, `an array of 3`, `null`.
std::string describe(const json::value& value);
/// "path: expected `expected`, got …" (kInvalidArgument, `where` is the path).
std::unexpected<Error> wrong_type(const std::string& path, std::string_view expected, const json::value& got);

/// One value at a path. `path` of the whole body is empty.
Result<bool> read_boolean(const json::value& value, const std::string& path);
/// Also takes 10.0.
Result<int64_t> read_integer(const json::value& value, const std::string& path, IntegerRange range = {});
Result<double> read_number(const json::value& value, const std::string& path, NumberRange range = {});
Result<std::string> read_string(const json::value& value, const std::string& path);

/// The members of one object. Each must be taken, accepted or refused; finish() then refuses what is left. A
/// member that is null counts as absent. Borrows the object.
class ObjectReader {
 public:
  ObjectReader(const json::object& object, std::string path) : object_(object), path_(std::move(path)) {}
  static Result<ObjectReader> of(const json::value& value, std::string path);

  /// "path.name"
  std::string path_of(std::string_view name) const;
  /// Null when absent.
  const json::value* take(std::string_view name);
  Result<std::optional<bool>> boolean(std::string_view name);
  Result<std::optional<int64_t>> integer(std::string_view name, IntegerRange range = {});
  Result<std::optional<double>> number(std::string_view name, NumberRange range = {});
  Result<std::optional<std::string>> string(std::string_view name);
  /// Null when absent.
  Result<const json::array*> array(std::string_view name);
  Result<const json::object*> object(std::string_view name);
  /// One of these words.
  Result<std::optional<std::string>> word(std::string_view name,
                                          std::initializer_list<std::string_view> words);
  /// A string that must be there.
  Result<std::string> required_string(std::string_view name);

  /// A documented member that this server does not do (kUnsupported). Values in `harmless` (JSON texts),
  /// which ask for what happens anyway, are let through.
  Status refuse(std::string_view name, std::string_view reason,
                std::initializer_list<std::string_view> harmless = {});
  /// Refuses what is left (kUnsupported).
  Status finish() const;

 private:
  const json::object& object_;
  std::string path_;
  std::vector<std::string_view> known_;
};

}  // namespace kvern::server
