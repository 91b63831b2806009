// + - * / // % ** on numbers, strings and lists. Integers are 64 bits wide; leaving them is an error, never a
// wrap.
#include <cmath>
#include <limits>

#include "text/template/format.h"
#include "text/template/operators.h"

namespace kvern::jinja {

namespace {

std::unexpected<Error> overflow() { return template_error("integer overflow: integers have 64 bits here"); }
std::unexpected<Error> zero_division() { return template_error("division by zero"); }

std::string_view symbol_of(BinaryOperator op) {
  switch (op) {
    case BinaryOperator::kAdd:
      return "+";
    case BinaryOperator::kSubtract:
      return "-";
    case BinaryOperator::kMultiply:
      return "*";
    case BinaryOperator::kDivide:
      return "/";
    case BinaryOperator::kFloorDivide:
      return "//";
    case BinaryOperator::kModulo:
      return "%";
    case BinaryOperator::kPower:
      return "** or pow()";
  }
  return "?";
}

/// Quotient rounded down and the remainder with the divisor's sign.
struct IntegerDivision {
  int64_t quotient = 0;
  int64_t remainder = 0;
};

Result<IntegerDivision> divide_down(int64_t a, int64_t b) {
  if (b == 0) return zero_division();
  if (a == std::numeric_limits<int64_t>::min() && b == -1) return overflow();
  IntegerDivision result{a / b, a % b};
  if (result.remainder != 0 && (result.remainder < 0) != (b < 0)) {
    --result.quotient;
    result.remainder += b;
  }
  return result;
}

double float_remainder(double a, double b) {
  const double remainder = std::fmod(a, b);
  if (remainder != 0 && (remainder < 0) != (b < 0)) return remainder + b;
  return remainder == 0 ? std::copysign(0.0, b) : remainder;
}

double float_floor_divide(double a, double b) {
  const double quotient = (a - float_remainder(a, b)) / b;
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Result<Value> integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return template_error("0.0 cannot be raised to a negative power");
    return Value::number(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return overflow();
  }
  return Value::integer(result);
}

Result<Value> integer_arithmetic(BinaryOperator op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case BinaryOperator::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return overflow();
      return Value::integer(result);
    case BinaryOperator::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) return overflow();
      return Value::integer(result);
    case BinaryOperator::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) return overflow();
      return Value::integer(result);
    case BinaryOperator::kDivide:
      if (b == 0) return zero_division();
      return Value::number(static_cast<double>(a) / static_cast<double>(b));
    case BinaryOperator::kFloorDivide:
    case BinaryOperator::kModulo: {
      KVERN_TRY(const IntegerDivision division, divide_down(a, b));
      return Value::integer(op == BinaryOperator::kModulo ? division.remainder : division.quotient);
    }
    case BinaryOperator::kPower:
      return integer_power(a, b);
  }
  return overflow();
}

Result<Value> float_arithmetic(BinaryOperator op, double a, double b) {
  switch (op) {
    case BinaryOperator::kAdd:
      return Value::number(a + b);
    case BinaryOperator::kSubtract:
      return Value::number(a - b);
    case BinaryOperator::kMultiply:
      return Value::number(a * b);
    case BinaryOperator::kPower:
      if (a == 0 && b < 0) return template_error("0.0 cannot be raised to a negative power");
      if (a < 0 && b != std::floor(b)) return template_error("a negative number has no real power here");
      return Value::number(std::pow(a, b));
    default:
      break;
  }
  if (b == 0) return zero_division();
  if (op == BinaryOperator::kDivide) return Value::number(a / b);
  if (op == BinaryOperator::kModulo) return Value::number(float_remainder(a, b));
  return Value::number(float_floor_divide(a, b));
}

Result<Value> repeat(Runtime& runtime, const Value& sequence, int64_t times) {
  const auto count = static_cast<uint64_t>(std::max<int64_t>(times, 0));
  if (sequence.is_string()) {
    const std::string& text = sequence.text();
    if (count != 0 && text.size() > runtime.limits().max_memory_bytes / count) {
      return fail(ErrorCode::kExhausted, "a repeated string is too long");
    }
    std::string out;
    out.reserve(text.size() * count);
    if (!text.empty()) {
      for (uint64_t i = 0; i < count; ++i) out += text;
    }
    return runtime.string(std::move(out));
  }
  const std::vector<Value>& items = sequence.as_list().items;
  if (count != 0 && items.size() > runtime.limits().max_memory_bytes / sizeof(Value) / count) {
    return fail(ErrorCode::kExhausted, "a repeated list is too long");
  }
  KVERN_TRY_STATUS(runtime.charge(items.size() * count));
  std::vector<Value> out;
  if (!items.empty()) {
    for (uint64_t i = 0; i < count; ++i) out.insert(out.end(), items.begin(), items.end());
  }
  return runtime.list(std::move(out), sequence.as_list().kind);
}

Result<Value> join_lists(Runtime& runtime, const List& a, const List& b) {
  std::vector<Value> items = a.items;
  items.insert(items.end(), b.items.begin(), b.items.end());
  return runtime.list(std::move(items), a.is_tuple() ? List::Kind::kTuple : List::Kind::kList);
}

}  // namespace

Result<Value> arithmetic(Runtime& runtime, BinaryOperator op, const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return integer_arithmetic(op, a.as_int(), b.as_int());
  if (a.is_number() && b.is_number()) return float_arithmetic(op, a.as_double(), b.as_double());
  if (op == BinaryOperator::kAdd && a.is_string() && b.is_string())
    return runtime.string(a.text() + b.text());
  if (op == BinaryOperator::kAdd && a.is_list() && b.is_list() &&
      a.as_list().is_tuple() == b.as_list().is_tuple()) {
    return join_lists(runtime, a.as_list(), b.as_list());
  }
  if (op == BinaryOperator::kModulo && a.is_string()) return format_percent(runtime, a.text(), b);
  if (op == BinaryOperator::kMultiply) {
    if ((a.is_string() || a.is_list()) && b.is_integral()) return repeat(runtime, a, b.as_int());
    if ((b.is_string() || b.is_list()) && a.is_integral()) return repeat(runtime, b, a.as_int());
  }
  if (a.is_undefined()) return undefined_error(a);
  if (b.is_undefined()) return undefined_error(b);
  if (op == BinaryOperator::kAdd && a.is_string()) {
    return template_error("can only concatenate str (not \"" + b.type_name() + "\") to str");
  }
  return template_error("unsupported operand type(s) for " + std::string(symbol_of(op)) + ": '" +
                        a.type_name() + "' and '" + b.type_name() + "'");
}

Result<Value> negate(const Value& value) {
  if (value.is_integral()) {
    int64_t result = 0;
    if (__builtin_sub_overflow(int64_t{0}, value.as_int(), &result)) return overflow();
    return Value::integer(result);
  }
  if (value.is_float()) return Value::number(-value.as_double());
  if (value.is_undefined()) return undefined_error(value);
  return template_error("bad operand type for unary -: '" + value.type_name() + "'");
}

}  // namespace kvern::jinja
