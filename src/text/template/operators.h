// Python's operators over values.
#pragma once

#include "base/result.h"
#include "text/template/ast.h"
#include "text/template/runtime.h"
#include "text/template/value.h"

namespace kvern::jinja {

bool is_truthy(const Value& value);
/// ==. Containers are compared by content; nesting beyond the limit is an error.
Result<bool> equal(Runtime& runtime, const Value& a, const Value& b);
/// <. Numbers, strings, and lists or tuples of the same type; anything else is an error.
Result<bool> less(Runtime& runtime, const Value& a, const Value& b);
/// Pays for looking up a key; an error if the value cannot be one.
Status check_key(Runtime& runtime, const Value& key);
/// item in container.
Result<bool> contains(Runtime& runtime, const Value& container, const Value& item);
Result<bool> compare(Runtime& runtime, ComparisonOperator op, const Value& a, const Value& b);

Result<Value> arithmetic(Runtime& runtime, BinaryOperator op, const Value& a, const Value& b);
Result<Value> negate(const Value& value);

/// What a loop over the value visits: items of a list, keys of a dict, code points of a string, nothing for
/// undefined. A list is returned itself, not copied.
Result<List*> iterate(Runtime& runtime, const Value& value);

/// An error that an undefined value was used.
std::unexpected<Error> undefined_error(const Value& value);

}  // namespace kvern::jinja
