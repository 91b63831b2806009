// Truth, equality, order, membership and iteration.
#include "text/template/operators.h"

#include <algorithm>
#include <utility>

#include "text/template/text_ops.h"
#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

/// A look-up compares a key with several others.
constexpr size_t kKeyBytesPerStep = 4;

Result<bool> equal_lists(Runtime& runtime, const List& a, const List& b) {
  if (&a == &b) return true;
  if (a.is_tuple() != b.is_tuple() || a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i) {
    KVERN_TRY(const bool same, equal(runtime, a.items[i], b.items[i]));
    if (!same) return false;
  }
  return true;
}

Result<bool> equal_dicts(Runtime& runtime, const Dict& a, const Dict& b) {
  if (&a == &b) return true;
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.entries()) {
    const Value* other = b.find(key);
    if (other == nullptr) return false;
    KVERN_TRY(const bool same, equal(runtime, value, *other));
    if (!same) return false;
  }
  return true;
}

bool equal_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.as_int() == b.as_int();
  return a.as_double() == b.as_double();
}

std::string_view symbol_of(ComparisonOperator op) {
  switch (op) {
    case ComparisonOperator::kLess:
      return "<";
    case ComparisonOperator::kLessEqual:
      return "<=";
    case ComparisonOperator::kGreater:
      return ">";
    case ComparisonOperator::kGreaterEqual:
      return ">=";
    default:
      return "==";
  }
}

/// a < b, or a <= b where `or_equal`; `op` is for the message.
Result<bool> ordered(Runtime& runtime, ComparisonOperator op, const Value& a, const Value& b);

Result<bool> ordered_lists(Runtime& runtime, ComparisonOperator op, const List& a, const List& b) {
  for (size_t i = 0; i < std::min(a.items.size(), b.items.size()); ++i) {
    KVERN_TRY(const bool same, equal(runtime, a.items[i], b.items[i]));
    if (!same) return ordered(runtime, op, a.items[i], b.items[i]);
  }
  const auto x = a.items.size();
  const auto y = b.items.size();
  switch (op) {
    case ComparisonOperator::kLess:
      return x < y;
    case ComparisonOperator::kLessEqual:
      return x <= y;
    case ComparisonOperator::kGreater:
      return x > y;
    default:
      return x >= y;
  }
}

template <typename T>
bool holds(ComparisonOperator op, const T& a, const T& b) {
  switch (op) {
    case ComparisonOperator::kLess:
      return a < b;
    case ComparisonOperator::kLessEqual:
      return a <= b;
    case ComparisonOperator::kGreater:
      return a > b;
    default:
      return a >= b;
  }
}

Result<bool> ordered(Runtime& runtime, ComparisonOperator op, const Value& a, const Value& b) {
  const DepthScope scope(runtime);
  KVERN_TRY_STATUS(scope.ok());
  KVERN_TRY_STATUS(runtime.charge(1));
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return holds(op, a.as_int(), b.as_int());
    return holds(op, a.as_double(), b.as_double());
  }
  if (a.is_string() && b.is_string()) {
    KVERN_TRY_STATUS(runtime.charge_bytes(std::min(a.text().size(), b.text().size())));
    return holds(op, a.text(), b.text());  // UTF-8 keeps code point order
  }
  if (a.is_list() && b.is_list() && a.as_list().is_tuple() == b.as_list().is_tuple()) {
    return ordered_lists(runtime, op, a.as_list(), b.as_list());
  }
  if (a.is_undefined()) return undefined_error(a);
  if (b.is_undefined()) return undefined_error(b);
  return template_error("'" + std::string(symbol_of(op)) + "' not supported between instances of '" +
                        a.type_name() + "' and '" + b.type_name() + "'");
}

}  // namespace

std::unexpected<Error> undefined_error(const Value& value) {
  return template_error(value.undefined_reason());
}

Status check_key(Runtime& runtime, const Value& key) {
  if (!is_hashable(key)) return template_error("unhashable type: '" + key.type_name() + "'");
  size_t bytes = key.is_string() ? key.text().size() : 0;
  if (key.is_list()) {
    for (const Value& item : key.as_list().items) bytes += item.is_string() ? item.text().size() : 1;
  }
  return runtime.charge(bytes / kKeyBytesPerStep);
}

bool is_truthy(const Value& value) {
  if (value.is_none() || value.is_undefined()) return false;
  if (value.is_integral()) return value.as_int() != 0;
  if (value.is_float()) return value.as_double() != 0;
  if (value.is_string()) return !value.text().empty();
  if (value.is_list()) return !value.as_list().items.empty();
  if (value.is_dict()) return value.as_dict().size() != 0;
  return true;
}

Result<bool> equal(Runtime& runtime, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.is_string() && b.is_string()) {
    if (a.text().size() != b.text().size()) return false;
    KVERN_TRY_STATUS(runtime.charge_bytes(a.text().size()));
    return a.text() == b.text();
  }
  if (a.is_undefined() && b.is_undefined()) return true;
  const bool lists = a.is_list() && b.is_list();
  if (!lists && !(a.is_dict() && b.is_dict())) return a.same_as(b);
  const DepthScope scope(runtime);
  KVERN_TRY_STATUS(scope.ok());
  KVERN_TRY_STATUS(runtime.charge(1 + (lists ? a.as_list().items.size() : a.as_dict().size())));
  return lists ? equal_lists(runtime, a.as_list(), b.as_list())
               : equal_dicts(runtime, a.as_dict(), b.as_dict());
}

Result<bool> less(Runtime& runtime, const Value& a, const Value& b) {
  return ordered(runtime, ComparisonOperator::kLess, a, b);
}

Result<bool> contains(Runtime& runtime, const Value& container, const Value& item) {
  if (container.is_string()) {
    if (item.is_undefined()) return undefined_error(item);
    if (!item.is_string()) {
      return template_error("'in <string>' requires string as left operand, not " + item.type_name());
    }
    KVERN_TRY_STATUS(runtime.charge_bytes(container.text().size() + item.text().size()));
    return find_text(container.text(), item.text()) != std::string_view::npos;
  }
  if (container.is_dict()) {
    KVERN_TRY_STATUS(check_key(runtime, item));
    return container.as_dict().find(item) != nullptr;
  }
  if (container.is_list()) {
    KVERN_TRY_STATUS(runtime.charge(container.as_list().items.size()));
    for (const Value& candidate : container.as_list().items) {
      KVERN_TRY(const bool same, equal(runtime, candidate, item));
      if (same) return true;
    }
    return false;
  }
  if (container.is_undefined()) return false;
  return template_error("argument of type '" + container.type_name() + "' is not iterable");
}

Result<bool> compare(Runtime& runtime, ComparisonOperator op, const Value& a, const Value& b) {
  switch (op) {
    case ComparisonOperator::kEqual:
      return equal(runtime, a, b);
    case ComparisonOperator::kNotEqual: {
      KVERN_TRY(const bool same, equal(runtime, a, b));
      return !same;
    }
    case ComparisonOperator::kIn:
      return contains(runtime, b, a);
    case ComparisonOperator::kNotIn: {
      KVERN_TRY(const bool inside, contains(runtime, b, a));
      return !inside;
    }
    default:
      return ordered(runtime, op, a, b);
  }
}

Result<List*> iterate(Runtime& runtime, const Value& value) {
  if (value.is_list()) return &value.as_list();
  std::vector<Value> items;
  if (value.is_dict()) {
    items.reserve(value.as_dict().size());
    for (const auto& [key, entry] : value.as_dict().entries()) items.push_back(key);
  } else if (value.is_string()) {
    KVERN_TRY_STATUS(runtime.charge(value.string_data().code_points));
    KVERN_TRY_STATUS(runtime.heap().reserve(value.string_data().code_points * sizeof(Value)));
    for (const std::string_view piece : split_code_points(value.text())) {
      KVERN_TRY(Value item, runtime.string(std::string(piece)));
      items.push_back(std::move(item));
    }
  } else if (!value.is_undefined()) {
    return template_error("'" + value.type_name() + "' object is not iterable");
  }
  KVERN_TRY(const Value list, runtime.list(std::move(items)));
  return &list.as_list();
}

}  // namespace kvern::jinja
