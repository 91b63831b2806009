// Filters over whole sequences: size, order, grouping, aggregation.
#include <algorithm>

#include "text/template/attributes.h"
#include "text/template/builtin.h"
#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/template/runtime.h"
#include "text/template/sequence_ops.h"
#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

Result<Value> filter_length(Runtime&, BoundArguments& arguments) {
  const Value& value = arguments.self();
  size_t length = 0;
  if (value.is_string()) {
    length = value.string_data().code_points;
  } else if (value.is_list()) {
    length = value.as_list().items.size();
  } else if (value.is_dict()) {
    length = value.as_dict().size();
  } else if (!value.is_undefined()) {
    return template_error("object of type '" + value.type_name() + "' has no len()");
  }
  return Value::integer(static_cast<int64_t>(length));
}

Result<Value> filter_first(Runtime& runtime, BoundArguments& arguments) {
  if (arguments.self().is_string() && !arguments.self().text().empty()) {
    return get_item(runtime, arguments.self(), Value::integer(0));
  }
  KVERN_TRY(const List* list, iterate(runtime, arguments.self()));
  return list->items.empty() ? Value::undefined("No first item, sequence was empty.") : list->items.front();
}

Result<Value> filter_last(Runtime& runtime, BoundArguments& arguments) {
  if (arguments.self().is_string() && !arguments.self().text().empty()) {
    return get_item(runtime, arguments.self(), Value::integer(-1));
  }
  KVERN_TRY(const List* list, iterate(runtime, arguments.self()));
  return list->items.empty() ? Value::undefined("No last item, sequence was empty.") : list->items.back();
}

Result<Value> filter_join(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const List* list, iterate(runtime, arguments.self()));
  std::string separator;
  if (const Value* given = arguments.find(1)) {
    KVERN_TRY(separator, to_str(runtime, *given));
  }
  std::string out;
  for (size_t i = 0; i < list->items.size(); ++i) {
    if (i > 0) out += separator;
    KVERN_TRY_STATUS(runtime.charge(1 + separator.size() / 64));
    if (const Value* attribute = arguments.find(2); attribute != nullptr && !attribute->is_none()) {
      KVERN_TRY(const Value part, get_path(runtime, list->items[i], *attribute));
      KVERN_TRY_STATUS(append_str(runtime, out, part));
    } else {
      KVERN_TRY_STATUS(append_str(runtime, out, list->items[i]));
    }
    if (out.size() > runtime.limits().max_memory_bytes)
      return fail(ErrorCode::kExhausted, "a joined text is too long");
  }
  return runtime.string(std::move(out));
}

Result<Value> filter_list(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const List* list, iterate(runtime, arguments.self()));
  return runtime.list(list->items);
}

Result<Value> filter_items(Runtime& runtime, BoundArguments& arguments) {
  const Value& value = arguments.self();
  if (value.is_undefined()) return runtime.list({});
  if (!value.is_dict()) return template_error("Can only get item pairs from a mapping.");
  std::vector<Value> pairs;
  for (const auto& [key, item] : value.as_dict().entries()) {
    KVERN_TRY(Value pair, runtime.list({key, item}, List::Kind::kTuple));
    pairs.push_back(std::move(pair));
  }
  return runtime.list(std::move(pairs));
}

Result<Value> filter_reverse(Runtime& runtime, BoundArguments& arguments) {
  const Value& value = arguments.self();
  if (value.is_string()) return get_slice(runtime, value, {.start = {}, .stop = {}, .step = -1});
  KVERN_TRY(const List* list, iterate(runtime, value));
  return runtime.list({list->items.rbegin(), list->items.rend()});
}

Result<Value> permuted(Runtime& runtime, const std::vector<Value>& items, const std::vector<size_t>& order) {
  std::vector<Value> out;
  out.reserve(order.size());
  for (const size_t i : order) out.push_back(items[i]);
  return runtime.list(std::move(out));
}

Result<Value> filter_sort(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const List* list, iterate(runtime, arguments.self()));
  const KeyOptions options{.attribute = arguments.find(3), .case_sensitive = arguments.flag(2, false)};
  KVERN_TRY(const auto keys, sort_keys(runtime, list->items, options));
  const auto direction = arguments.flag(1, false) ? Direction::kDescending : Direction::kAscending;
  KVERN_TRY(const auto order, sorted_order(runtime, keys, direction));
  return permuted(runtime, list->items, order);
}

Result<Value> filter_dictsort(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const std::string by, arguments.string(2, "key"));
  if (by != "key" && by != "value") return template_error("You can only sort by either \"key\" or \"value\"");
  KVERN_TRY(const Value pairs, filter_items(runtime, arguments));
  const Value part = Value::integer(by == "key" ? 0 : 1);
  const KeyOptions options{.attribute = &part, .case_sensitive = arguments.flag(1, false)};
  KVERN_TRY(const auto keys, sort_keys(runtime, pairs.as_list().items, options));
  const auto direction = arguments.flag(3, false) ? Direction::kDescending : Direction::kAscending;
  KVERN_TRY(const auto order, sorted_order(runtime, keys, direction));
  return permuted(runtime, pairs.as_list().items, order);
}

Result<Value> filter_unique(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const List* list, iterate(runtime, arguments.self()));
  const KeyOptions options{.attribute = arguments.find(2), .case_sensitive = arguments.flag(1, false)};
  KVERN_TRY(const auto keys, sort_keys(runtime, list->items, options));
  KVERN_TRY(Dict * seen, runtime.heap().dict());
  std::vector<Value> out;
  for (size_t i = 0; i < keys.size(); ++i) {
    const size_t before = seen->size();
    KVERN_TRY_STATUS(check_key(runtime, keys[i]));
    KVERN_TRY_STATUS(runtime.heap().set(*seen, keys[i], Value()));
    if (seen->size() > before) out.push_back(list->items[i]);
  }
  return runtime.list(std::move(out));
}

Result<Value> filter_groupby(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const List* list, iterate(runtime, arguments.self()));
  const bool case_sensitive = arguments.flag(3, false);
  const Value* fallback = arguments.find(2);
  if (fallback != nullptr && fallback->is_none()) fallback = nullptr;
  const KeyOptions folded{
      .attribute = arguments.find(1), .case_sensitive = case_sensitive, .fallback = fallback};
  const KeyOptions exact{.attribute = arguments.find(1), .case_sensitive = true, .fallback = fallback};
  KVERN_TRY(const auto keys, sort_keys(runtime, list->items, folded));
  KVERN_TRY(const auto order, sorted_order(runtime, keys, Direction::kAscending));
  std::vector<Value> groups;
  for (size_t i = 0; i < order.size();) {
    std::vector<Value> members;
    KVERN_TRY(Value grouper, sort_key(runtime, list->items[order[i]], exact));
    const Value& key = keys[order[i]];
    bool same = true;
    while (same) {
      members.push_back(list->items[order[i++]]);
      if (i == order.size()) break;
      KVERN_TRY(same, equal(runtime, keys[order[i]], key));
    }
    KVERN_TRY(Value inner, runtime.list(std::move(members)));
    KVERN_TRY(Value group, runtime.list({std::move(grouper), std::move(inner)}, List::Kind::kGroup));
    groups.push_back(std::move(group));
  }
  return runtime.list(std::move(groups));
}

Result<Value> filter_sum(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const List* list, iterate(runtime, arguments.self()));
  const Value* attribute = arguments.find(1);
  Value total = arguments.find(2) != nullptr ? arguments[2] : Value::integer(0);
  for (const Value& item : list->items) {
    Value term = item;
    if (attribute != nullptr && !attribute->is_none()) {
      KVERN_TRY(term, get_path(runtime, item, *attribute));
    }
    KVERN_TRY_STATUS(runtime.charge(1));
    KVERN_TRY(total, arithmetic(runtime, BinaryOperator::kAdd, total, term));
  }
  return total;
}

template <Direction direction>
Result<Value> filter_extreme(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const List* list, iterate(runtime, arguments.self()));
  if (list->items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  const KeyOptions options{.attribute = arguments.find(2), .case_sensitive = arguments.flag(1, false)};
  KVERN_TRY(const auto keys, sort_keys(runtime, list->items, options));
  size_t best = 0;
  for (size_t i = 1; i < keys.size(); ++i) {
    const bool ascending = direction == Direction::kAscending;
    KVERN_TRY(const bool better, less(runtime, keys[ascending ? i : best], keys[ascending ? best : i]));
    if (better) best = i;
  }
  return list->items[best];
}

Result<Value> filter_batch(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const List* list, iterate(runtime, arguments.self()));
  KVERN_TRY(const int64_t size, arguments.integer(1, 0));
  if (size < 1 || size > runtime.limits().max_range) return template_error("batch: the size is out of range");
  const Value* fill = arguments.find(2);
  std::vector<Value> batches;
  for (size_t start = 0; start < list->items.size(); start += static_cast<size_t>(size)) {
    const size_t end = std::min(list->items.size(), start + static_cast<size_t>(size));
    std::vector<Value> batch(list->items.begin() + static_cast<std::ptrdiff_t>(start),
                             list->items.begin() + static_cast<std::ptrdiff_t>(end));
    if (fill != nullptr && !fill->is_none()) batch.resize(static_cast<size_t>(size), *fill);
    KVERN_TRY(Value item, runtime.list(std::move(batch)));
    batches.push_back(std::move(item));
  }
  return runtime.list(std::move(batches));
}

Result<Value> filter_slice(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const List* list, iterate(runtime, arguments.self()));
  KVERN_TRY(const int64_t wanted, arguments.integer(1, 0));
  if (wanted < 1 || wanted > runtime.limits().max_range)
    return template_error("slice: the number is out of range");
  const auto count = static_cast<size_t>(wanted);
  const size_t each = list->items.size() / count;
  const size_t larger = list->items.size() % count;
  const Value* fill = arguments.find(2);
  std::vector<Value> slices;
  auto at = list->items.begin();
  for (size_t i = 0; i < count; ++i) {
    std::vector<Value> part(at, at + static_cast<std::ptrdiff_t>(each + (i < larger ? 1 : 0)));
    at += static_cast<std::ptrdiff_t>(part.size());
    if (fill != nullptr && !fill->is_none() && larger != 0 && i >= larger) part.push_back(*fill);
    KVERN_TRY(Value item, runtime.list(std::move(part)));
    slices.push_back(std::move(item));
  }
  return runtime.list(std::move(slices));
}

constexpr Builtin kTable[] = {
    {"length", "value", 1, filter_length},
    {"count", "value", 1, filter_length},
    {"first", "value", 1, filter_first},
    {"last", "value", 1, filter_last},
    {"join", "value,d,attribute", 1, filter_join},
    {"list", "value", 1, filter_list},
    {"items", "value", 1, filter_items},
    {"reverse", "value", 1, filter_reverse},
    {"sort", "value,reverse,case_sensitive,attribute", 1, filter_sort},
    {"dictsort", "value,case_sensitive,by,reverse", 1, filter_dictsort},
    {"unique", "value,case_sensitive,attribute", 1, filter_unique},
    {"groupby", "value,attribute,default,case_sensitive", 2, filter_groupby},
    {"sum", "value,attribute,start", 1, filter_sum},
    {"min", "value,case_sensitive,attribute", 1, filter_extreme<Direction::kAscending>},
    {"max", "value,case_sensitive,attribute", 1, filter_extreme<Direction::kDescending>},
    {"batch", "value,linecount,fill_with", 2, filter_batch},
    {"slice", "value,slices,fill_with", 2, filter_slice},
};

}  // namespace

std::span<const Builtin> sequence_filters() { return kTable; }

}  // namespace kvern::jinja
