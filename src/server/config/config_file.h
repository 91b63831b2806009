// The file of --config: flags by their names, one a line, in the part of TOML that they need.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvern::server {

struct ConfigEntry {
  std::string key;                  ///< with "-" for "_": "max-queue"
  std::vector<std::string> values;  ///< one, or those of an array
  size_t line = 0;                  ///< counted from 1
};

/// `key = value`. A value is a "string" (with \" \\ \n \t and \uXXXX), a 'literal string', a word of letters,
/// digits and . _ : / + - (numbers, true, false, 2GiB), or an [array, of these] on one line. "#" begins a
/// comment. Errors (kInvalidArgument) name file and line: what is none of this, tables ("[server]"), a key
/// that is there twice.
Result<std::vector<ConfigEntry>> parse_config(std::string_view text, const std::string& path);

}  // namespace kvern::server
