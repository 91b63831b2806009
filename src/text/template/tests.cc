// The tests behind `is`.
#include "text/template/builtin.h"
#include "text/template/operators.h"
#include "text/template/runtime.h"
#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

template <bool (*predicate)(const Value&)>
Result<Value> type_test(Runtime&, BoundArguments& arguments) {
  return Value::boolean(predicate(arguments.self()));
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_string(const Value& value) { return value.is_string(); }
bool is_number(const Value& value) { return value.is_number(); }
bool is_integer(const Value& value) { return value.is_int(); }
bool is_float(const Value& value) { return value.is_float(); }
bool is_boolean(const Value& value) { return value.is_bool(); }
bool is_true(const Value& value) { return value.is_bool() && value.as_bool(); }
bool is_false(const Value& value) { return value.is_bool() && !value.as_bool(); }
bool is_mapping(const Value& value) { return value.is_dict(); }
bool is_iterable(const Value& value) {
  return value.is_string() || value.is_list() || value.is_dict() || value.is_undefined();
}
bool is_callable(const Value& value) {
  // Undefined values have a __call__ in Jinja (it raises), so they count.
  return value.is_undefined() || (value.is_object() && value.as_object().is_callable());
}
bool is_escaped(const Value&) { return false; }  // there is no markup type: autoescape is off

/// True if the text has cased letters and each of them satisfies `right`.
template <bool (*right)(int32_t), bool (*wrong)(int32_t)>
Result<Value> case_test(Runtime& runtime, BoundArguments& arguments) {
  if (!arguments.self().is_string()) return Value::boolean(false);
  const std::string& text = arguments.self().text();
  KVERN_TRY_STATUS(runtime.charge_bytes(text.size()));
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_at(text, at);
    if (wrong(point.value)) return Value::boolean(false);
    any = any || right(point.value);
    at += point.bytes;
  }
  return Value::boolean(any);
}

Result<int64_t> integer_operand(const Value& value) {
  if (value.is_undefined()) return undefined_error(value);
  if (!value.is_integral()) return template_error("an integer is needed, got '" + value.type_name() + "'");
  return value.as_int();
}

Result<Value> test_odd(Runtime&, BoundArguments& arguments) {
  KVERN_TRY(const int64_t value, integer_operand(arguments.self()));
  return Value::boolean(value % 2 != 0);
}

Result<Value> test_even(Runtime&, BoundArguments& arguments) {
  KVERN_TRY(const int64_t value, integer_operand(arguments.self()));
  return Value::boolean(value % 2 == 0);
}

Result<Value> test_divisible(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const Value rest, arithmetic(runtime, BinaryOperator::kModulo, arguments.self(), arguments[1]));
  return Value::boolean(!is_truthy(rest));
}

template <ComparisonOperator op>
Result<Value> test_compare(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const bool holds, compare(runtime, op, arguments.self(), arguments[1]));
  return Value::boolean(holds);
}

Result<Value> test_same_as(Runtime& runtime, BoundArguments& arguments) {
  if (arguments.self().is_string()) KVERN_TRY_STATUS(runtime.charge_bytes(arguments.self().text().size()));
  return Value::boolean(arguments.self().same_as(arguments[1]));
}

Result<Value> test_filter(Runtime&, BoundArguments& arguments) {
  return Value::boolean(arguments.self().is_string() && find_filter(arguments.self().text()) != nullptr);
}

Result<Value> test_test(Runtime&, BoundArguments& arguments) {
  return Value::boolean(arguments.self().is_string() && find_test(arguments.self().text()) != nullptr);
}

constexpr Builtin kTable[] = {
    {"defined", "value", 1, type_test<is_defined>},
    {"undefined", "value", 1, type_test<is_undefined>},
    {"none", "value", 1, type_test<is_none>},
    {"string", "value", 1, type_test<is_string>},
    {"number", "value", 1, type_test<is_number>},
    {"integer", "value", 1, type_test<is_integer>},
    {"float", "value", 1, type_test<is_float>},
    {"boolean", "value", 1, type_test<is_boolean>},
    {"true", "value", 1, type_test<is_true>},
    {"false", "value", 1, type_test<is_false>},
    {"mapping", "value", 1, type_test<is_mapping>},
    {"iterable", "value", 1, type_test<is_iterable>},
    {"sequence", "value", 1, type_test<is_iterable>},
    {"callable", "value", 1, type_test<is_callable>},
    {"escaped", "value", 1, type_test<is_escaped>},
    {"lower", "value", 1, case_test<is_lower, is_upper>},
    {"upper", "value", 1, case_test<is_upper, is_lower>},
    {"odd", "value", 1, test_odd},
    {"even", "value", 1, test_even},
    {"divisibleby", "value,num", 2, test_divisible},
    {"sameas", "value,other", 2, test_same_as},
    {"filter", "value", 1, test_filter},
    {"test", "value", 1, test_test},
    {"in", "value,seq", 2, test_compare<ComparisonOperator::kIn>},
    {"eq", "value,other", 2, test_compare<ComparisonOperator::kEqual>},
    {"==", "value,other", 2, test_compare<ComparisonOperator::kEqual>},
    {"equalto", "value,other", 2, test_compare<ComparisonOperator::kEqual>},
    {"ne", "value,other", 2, test_compare<ComparisonOperator::kNotEqual>},
    {"!=", "value,other", 2, test_compare<ComparisonOperator::kNotEqual>},
    {"lt", "value,other", 2, test_compare<ComparisonOperator::kLess>},
    {"<", "value,other", 2, test_compare<ComparisonOperator::kLess>},
    {"lessthan", "value,other", 2, test_compare<ComparisonOperator::kLess>},
    {"le", "value,other", 2, test_compare<ComparisonOperator::kLessEqual>},
    {"<=", "value,other", 2, test_compare<ComparisonOperator::kLessEqual>},
    {"gt", "value,other", 2, test_compare<ComparisonOperator::kGreater>},
    {">", "value,other", 2, test_compare<ComparisonOperator::kGreater>},
    {"greaterthan", "value,other", 2, test_compare<ComparisonOperator::kGreater>},
    {"ge", "value,other", 2, test_compare<ComparisonOperator::kGreaterEqual>},
    {">=", "value,other", 2, test_compare<ComparisonOperator::kGreaterEqual>},
};

}  // namespace

std::span<const Builtin> tests() { return kTable; }

}  // namespace kvern::jinja
