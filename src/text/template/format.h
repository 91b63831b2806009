// Python's two ways to format text: "%s" % value and "{}".format(value).
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/template/runtime.h"
#include "text/template/value.h"

namespace kvern::jinja {

/// pattern % value: a tuple gives the values in turn, a dict the named ones (%(name)s), anything else is the
/// only value. Conversions: d i u s r a f F e E g G x X o c %, with flags, width and precision.
Result<Value> format_percent(Runtime& runtime, std::string_view pattern, const Value& value);

/// pattern.format(...): {} {0} {name} with .attribute and [key], !r and !s, and a format specification
/// ([[fill]align][sign][#][0][width][,][.precision][type]).
Result<Value> format_braces(Runtime& runtime, std::string_view pattern, const CallArguments& arguments);

}  // namespace kvern::jinja
