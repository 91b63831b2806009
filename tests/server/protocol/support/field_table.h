// Every field of an API with every kind of value: what is right is answered, all else is an error that names
// the field.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace kvern::server::test {

inline const std::vector<std::string> kValues = {"null",
                                                 "true",
                                                 "false",
                                                 "-1",
                                                 "0",
                                                 "1",
                                                 "1.5",
                                                 "2147483647",
                                                 "9223372036854775807",
                                                 "9223372036854775808",
                                                 "18446744073709551616",
                                                 "-1e400",
                                                 "1e400",
                                                 "1e-400",
                                                 "\"\"",
                                                 "\"x\"",
                                                 "\"\\u0000\"",
                                                 "[]",
                                                 "[1]",
                                                 "[\"x\"]",
                                                 "[[]]",
                                                 "[null]",
                                                 "{}",
                                                 "{\"x\":1}",
                                                 "{\"5\":1}",
                                                 "{\"-1\":1}",
                                                 "{\"4095\":1}",
                                                 "{\"4096\":1}",
                                                 "{\"5\":\"x\"}"};

struct Field {
  std::string name;
  /// What of kValues is right, beside null.
  std::set<std::string> right;
  /// What stands around the value (@); empty: the field of the body.
  std::string around = {};
  /// No parameter of this API at all: null is as wrong as everything else.
  bool unknown = false;
};

inline const std::set<std::string> kBooleans = {"true", "false"};
inline const std::set<std::string> kSmallNumbers = {"0", "1", "1e-400"};  // from 0 to 1
inline const std::set<std::string> kStrings = {"\"\"", "\"x\"", "\"\\u0000\""};

inline std::set<std::string> or_null(std::set<std::string> right) {
  right.insert("null");
  return right;
}

inline const std::set<std::string> kObjects = {"{}",           "{\"x\":1}",    "{\"5\":1}",    "{\"-1\":1}",
                                               "{\"4095\":1}", "{\"4096\":1}", "{\"5\":\"x\"}"};

/// A whole body around a value of a field; `rest`: what the body must have beside it, as members.
inline std::string body_around(const Field& field, const std::string& value, const std::string& rest) {
  const std::string around = field.around.empty() ? "\"" + field.name + "\": @" : field.around;
  const size_t place = around.find('@');
  return "{" + (rest.empty() ? "" : rest + ", ") + around.substr(0, place) + value +
         around.substr(place + 1) + "}";
}

/// Whether the value is right. Null is as good as absent, but for what must be there (always with something
/// around it).
inline bool is_right(const Field& field, const std::string& value) {
  return field.right.contains(value) || (value == "null" && field.around.empty() && !field.unknown);
}

}  // namespace kvern::server::test
