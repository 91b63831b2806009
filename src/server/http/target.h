// The target of a request (RFC 9112, section 3.2): path and query, decoded. Never a file name: "." and ".."
// are text like any other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kvern::server {

struct Target {
  std::string path;                   ///< decoded, begins with "/"; "*" as OPTIONS has it
  std::vector<std::string> segments;  ///< of the path, each decoded by itself: %2F does not divide
  std::vector<std::pair<std::string, std::string>> query;  ///< in order; "+" is a space
};

/// Origin form and absolute form. kInvalidArgument: another form, control characters or spaces, a "%" without
/// two hexadecimal digits, or one that hides a NUL.
Result<Target> parse_target(std::string_view target);

/// Nothing when a "%" is not followed by two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace kvern::server
