// Filters that make numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "text/template/builtin.h"
#include "text/template/number_text.h"
#include "text/template/operators.h"
#include "text/template/runtime.h"

namespace kvern::jinja {

namespace {

constexpr double kInt64Bound = 9223372036854775808.0;  // 2^63

/// A float cut to an integer; empty if it has none in 64 bits.
std::optional<int64_t> truncated(double value) {
  if (!(value > -kInt64Bound && value < kInt64Bound)) return {};
  return static_cast<int64_t>(value);
}

Result<Value> filter_abs(Runtime&, BoundArguments& arguments) {
  const Value& value = arguments.self();
  if (value.is_float()) return Value::number(std::fabs(value.as_double()));
  if (value.is_integral()) return value.as_int() < 0 ? negate(value) : Value::integer(value.as_int());
  if (value.is_undefined()) return undefined_error(value);
  return template_error("bad operand type for abs(): '" + value.type_name() + "'");
}

Result<Value> filter_int(Runtime& runtime, BoundArguments& arguments) {
  const Value& value = arguments.self();
  if (value.is_undefined()) return undefined_error(value);
  if (value.is_integral()) return Value::integer(value.as_int());
  KVERN_TRY(const int64_t base, arguments.integer(2, 10));
  std::optional<int64_t> result;
  if (value.is_float()) result = truncated(value.as_double());
  if (value.is_string()) {
    KVERN_TRY_STATUS(runtime.charge_bytes(value.text().size()));
    if (base == 0 || (base >= 2 && base <= 36)) result = parse_integer(value.text(), static_cast<int>(base));
    if (!result) {
      if (const auto number = parse_float(value.text())) result = truncated(*number);
    }
  }
  if (result) return Value::integer(*result);
  return arguments.find(1) != nullptr ? arguments[1] : Value::integer(0);
}

Result<Value> filter_float(Runtime& runtime, BoundArguments& arguments) {
  const Value& value = arguments.self();
  if (value.is_undefined()) return undefined_error(value);
  if (value.is_number()) return Value::number(value.as_double());
  if (value.is_string()) {
    KVERN_TRY_STATUS(runtime.charge_bytes(value.text().size()));
    if (const auto number = parse_float(value.text())) return Value::number(*number);
  }
  return arguments.find(1) != nullptr ? arguments[1] : Value::number(0.0);
}

Result<Value> filter_round(Runtime&, BoundArguments& arguments) {
  const Value& value = arguments.self();
  KVERN_TRY(const int64_t wanted, arguments.integer(1, 0));
  const int digits = static_cast<int>(std::clamp<int64_t>(wanted, -400, 400));
  KVERN_TRY(const std::string method, arguments.string(2, "common"));
  if (method != "common" && method != "ceil" && method != "floor") {
    return template_error("method must be common, ceil or floor");
  }
  if (value.is_undefined()) return undefined_error(value);
  if (!value.is_number())
    return template_error("type " + value.type_name() + " doesn't define __round__ method");
  if (method == "common") {
    if (value.is_integral() && digits >= 0) return Value::integer(value.as_int());
    const double rounded = round_decimal(value.as_double(), digits);
    if (!value.is_integral()) return Value::number(rounded);
    const auto whole = truncated(rounded);
    return whole ? Value::integer(*whole) : Value::number(rounded);
  }
  const double unit = std::pow(10.0, digits);
  const double scaled = value.as_double() * unit;
  return Value::number((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

constexpr Builtin kTable[] = {
    {"abs", "value", 1, filter_abs},
    {"int", "value,default,base", 1, filter_int},
    {"float", "value,default", 1, filter_float},
    {"round", "value,precision,method", 1, filter_round},
};

}  // namespace

std::span<const Builtin> number_filters() { return kTable; }

}  // namespace kvern::jinja
