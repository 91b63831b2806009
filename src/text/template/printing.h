// Values as text, as Python's str() and repr() write them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "text/template/runtime.h"
#include "text/template/value.h"

namespace kvern::jinja {

/// str(): strings as they are, undefined as nothing, everything else as repr().
Status append_str(Runtime& runtime, std::string& out, const Value& value);
/// repr(): strings quoted, containers with their items. Nesting beyond the limit is an error.
Status append_repr(Runtime& runtime, std::string& out, const Value& value);

Result<std::string> to_str(Runtime& runtime, const Value& value);
/// A text in the quotes and with the escapes that Python's repr() chooses.
void append_quoted(std::string& out, std::string_view text);
/// Shortest text that reads back as the same double, in Python's form: 1.0, 1e+16, inf, nan.
std::string float_repr(double value);

}  // namespace kvern::jinja
