// Methods of list, tuple and dict. The ones that change their receiver go beyond Hugging Face's immutable
// sandbox; what they change belongs to the render, never to the caller's context.
#include <algorithm>

#include "text/template/builtin.h"
#include "text/template/operators.h"
#include "text/template/runtime.h"
#include "text/template/sequence_ops.h"

namespace kvern::jinja {

namespace {

std::vector<Value>& items_of(BoundArguments& arguments) { return arguments.self().as_list().items; }

Result<Value> list_append(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY_STATUS(runtime.heap().reserve(sizeof(Value)));
  items_of(arguments).push_back(arguments[1]);
  return Value();
}

Result<Value> list_extend(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const List* more, iterate(runtime, arguments[1]));
  const std::vector<Value> copy = more->items;  // a list may extend itself
  KVERN_TRY_STATUS(runtime.charge(copy.size()));
  KVERN_TRY_STATUS(runtime.heap().reserve(copy.size() * sizeof(Value)));
  items_of(arguments).insert(items_of(arguments).end(), copy.begin(), copy.end());
  return Value();
}

Result<Value> list_insert(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const int64_t index, arguments.integer(1, 0));
  std::vector<Value>& items = items_of(arguments);
  KVERN_TRY_STATUS(runtime.charge(items.size() / 16));
  KVERN_TRY_STATUS(runtime.heap().reserve(sizeof(Value)));
  const auto size = static_cast<int64_t>(items.size());
  const int64_t at = std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
  items.insert(items.begin() + at, arguments[2]);
  return Value();
}

Result<Value> list_pop(Runtime& runtime, BoundArguments& arguments) {
  std::vector<Value>& items = items_of(arguments);
  KVERN_TRY(const int64_t index, arguments.integer(1, -1));
  const auto size = static_cast<int64_t>(items.size());
  const int64_t at = index < 0 ? index + size : index;
  if (items.empty()) return template_error("pop from empty list");
  if (at < 0 || at >= size) return template_error("pop index out of range");
  KVERN_TRY_STATUS(runtime.charge(static_cast<uint64_t>(size - at) / 16));
  Value value = std::move(items[static_cast<size_t>(at)]);
  items.erase(items.begin() + at);
  return value;
}

Result<Value> list_clear(Runtime&, BoundArguments& arguments) {
  items_of(arguments).clear();
  return Value();
}

Result<Value> list_reverse(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY_STATUS(runtime.charge(items_of(arguments).size() / 16));
  std::ranges::reverse(items_of(arguments));
  return Value();
}

Result<Value> list_copy(Runtime& runtime, BoundArguments& arguments) {
  return runtime.list(items_of(arguments));
}

/// Index of the first item that equals the argument; the size if there is none.
Result<size_t> position_of(Runtime& runtime, BoundArguments& arguments) {
  const std::vector<Value>& items = items_of(arguments);
  KVERN_TRY_STATUS(runtime.charge(items.size()));
  for (size_t i = 0; i < items.size(); ++i) {
    KVERN_TRY(const bool same, equal(runtime, items[i], arguments[1]));
    if (same) return i;
  }
  return items.size();
}

Result<Value> list_index(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const size_t at, position_of(runtime, arguments));
  if (at == items_of(arguments).size()) return template_error("the value is not in the list");
  return Value::integer(static_cast<int64_t>(at));
}

Result<Value> list_remove(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const size_t at, position_of(runtime, arguments));
  std::vector<Value>& items = items_of(arguments);
  if (at == items.size()) return template_error("list.remove(x): x not in list");
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return Value();
}

Result<Value> list_count(Runtime& runtime, BoundArguments& arguments) {
  int64_t count = 0;
  KVERN_TRY_STATUS(runtime.charge(items_of(arguments).size()));
  for (const Value& item : items_of(arguments)) {
    KVERN_TRY(const bool same, equal(runtime, item, arguments[1]));
    count += same;
  }
  return Value::integer(count);
}

Result<Value> list_sort(Runtime& runtime, BoundArguments& arguments) {
  std::vector<Value>& items = items_of(arguments);
  const auto direction = arguments.flag(1, false) ? Direction::kDescending : Direction::kAscending;
  KVERN_TRY(const auto order, sorted_order(runtime, items, direction));
  std::vector<Value> sorted;
  sorted.reserve(order.size());
  for (const size_t i : order) sorted.push_back(items[i]);
  items = std::move(sorted);
  return Value();
}

const Dict& dict_of(const BoundArguments& arguments) { return arguments.self().as_dict(); }

Result<Value> dict_get(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY_STATUS(check_key(runtime, arguments[1]));
  if (const Value* found = dict_of(arguments).find(arguments[1])) return *found;
  return arguments.find(2) != nullptr ? arguments[2] : Value();
}

Result<Value> dict_items(Runtime& runtime, BoundArguments& arguments) {
  return invoke(runtime, *find_filter("items"), arguments.self(), {});
}

Result<Value> dict_keys(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(List * keys, iterate(runtime, arguments.self()));
  return Value::list(keys);
}

Result<Value> dict_values(Runtime& runtime, BoundArguments& arguments) {
  std::vector<Value> values;
  for (const auto& [key, value] : dict_of(arguments).entries()) values.push_back(value);
  return runtime.list(std::move(values));
}

Result<Value> dict_copy(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(Dict * copy, runtime.heap().dict());
  KVERN_TRY_STATUS(runtime.charge(dict_of(arguments).size()));
  for (const auto& [key, value] : dict_of(arguments).entries()) {
    KVERN_TRY_STATUS(runtime.heap().set(*copy, key, value));
  }
  return Value::dict(copy);
}

Status merge(Runtime& runtime, Dict& into, const Value& from) {
  if (from.is_dict()) {
    const auto entries = from.as_dict().entries();  // a copy: a dict may update itself
    KVERN_TRY_STATUS(runtime.charge(entries.size()));
    for (const auto& [key, value] : entries) {
      KVERN_TRY_STATUS(check_key(runtime, key));
      KVERN_TRY_STATUS(runtime.heap().set(into, key, value));
    }
    return Ok{};
  }
  KVERN_TRY(const List* pairs, iterate(runtime, from));
  for (const Value& pair : pairs->items) {
    KVERN_TRY_STATUS(runtime.charge(1));
    if (!pair.is_list() || pair.as_list().items.size() != 2) {
      return template_error("a dict is made from a mapping or from pairs");
    }
    KVERN_TRY_STATUS(check_key(runtime, pair.as_list().items[0]));
    KVERN_TRY_STATUS(runtime.heap().set(into, pair.as_list().items[0], pair.as_list().items[1]));
  }
  return Ok{};
}

Result<Value> dict_update(Runtime& runtime, BoundArguments& arguments) {
  Dict& dict = arguments.self().as_dict();
  for (const Value& source : arguments.rest.positional) KVERN_TRY_STATUS(merge(runtime, dict, source));
  for (const auto& [name, value] : arguments.rest.named) {
    KVERN_TRY(Value key, runtime.string(name));
    KVERN_TRY_STATUS(runtime.heap().set(dict, std::move(key), value));
  }
  return Value();
}

Result<Value> dict_pop(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY_STATUS(check_key(runtime, arguments[1]));
  const Value* found = dict_of(arguments).find(arguments[1]);
  if (found == nullptr) {
    if (arguments.find(2) != nullptr) return arguments[2];
    return template_error("the key is not in the dict");
  }
  KVERN_TRY_STATUS(runtime.charge(dict_of(arguments).size()));  // later entries move up
  Value value = *found;
  arguments.self().as_dict().erase(arguments[1]);
  return value;
}

Result<Value> dict_setdefault(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY_STATUS(check_key(runtime, arguments[1]));
  if (const Value* found = dict_of(arguments).find(arguments[1])) return *found;
  Value value = arguments.find(2) != nullptr ? arguments[2] : Value();
  KVERN_TRY_STATUS(runtime.heap().set(arguments.self().as_dict(), arguments[1], value));
  return value;
}

Result<Value> dict_clear(Runtime&, BoundArguments& arguments) {
  arguments.self().as_dict().clear();
  return Value();
}

constexpr Builtin kListTable[] = {
    {"append", "self,item", 2, list_append},
    {"extend", "self,items", 2, list_extend},
    {"insert", "self,index,item", 3, list_insert},
    {"pop", "self,index", 1, list_pop},
    {"clear", "self", 1, list_clear},
    {"reverse", "self", 1, list_reverse},
    {"copy", "self", 1, list_copy},
    {"index", "self,item", 2, list_index},
    {"remove", "self,item", 2, list_remove},
    {"count", "self,item", 2, list_count},
    {"sort", "self,reverse", 1, list_sort},
};

constexpr Builtin kTupleTable[] = {
    {"index", "self,item", 2, list_index},
    {"count", "self,item", 2, list_count},
};

constexpr Builtin kDictTable[] = {
    {"get", "self,key,default", 2, dict_get}, {"items", "self", 1, dict_items},
    {"keys", "self", 1, dict_keys},           {"values", "self", 1, dict_values},
    {"copy", "self", 1, dict_copy},           {"update", "self,*", 1, dict_update},
    {"pop", "self,key,default", 2, dict_pop}, {"setdefault", "self,key,default", 2, dict_setdefault},
    {"clear", "self", 1, dict_clear},
};

}  // namespace

std::span<const Builtin> list_methods() { return kListTable; }
std::span<const Builtin> tuple_methods() { return kTupleTable; }
std::span<const Builtin> dict_methods() { return kDictTable; }

}  // namespace kvern::jinja
