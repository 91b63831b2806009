// JSON from untrusted sources: Boost.JSON behind limits and Result.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "base/result.h"

namespace kvern {

namespace json = boost::json;

struct JsonLimits {
  size_t max_bytes = size_t{256} << 20;
  size_t max_depth = 64;
};

/// Parses one JSON document. Errors (kCorrupt) carry `where` and the byte offset at which parsing stopped.
Result<json::value> parse_json(std::string_view text, const std::string& where,
                               const JsonLimits& limits = {});

/// Compact JSON text, always valid: bytes that are not UTF-8 in strings are replaced by U+FFFD, numbers that
/// are not finite by null. A double is the shortest text that is read back as that double ("0.1", "2.0").
std::string to_json(const json::value& value);

}  // namespace kvern
