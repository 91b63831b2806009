// Values as JSON, as Python's json.dumps writes them: what Hugging Face's `tojson` filter is.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "text/template/runtime.h"
#include "text/template/value.h"

namespace kvern::jinja {

/// The options of json.dumps. No HTML escaping, unlike Jinja's own filter.
struct JsonFormat {
  bool ensure_ascii = false;
  std::optional<std::string> indent;  ///< One level; none: everything on one line.
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

/// Fails for values that JSON does not have: undefined, functions, namespaces.
Result<std::string> to_json_text(Runtime& runtime, const Value& value, const JsonFormat& format);

}  // namespace kvern::jinja
