// From JSON to values.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "text/template/runtime.h"
#include "text/template/value.h"

namespace kvern::jinja {

/// A deep copy. Errors name the variable: kUnsupported for integers beyond 64 bits, kExhausted for deep
/// nesting.
Result<Value> import_json(Runtime& runtime, const json::value& source, std::string_view variable);

}  // namespace kvern::jinja
