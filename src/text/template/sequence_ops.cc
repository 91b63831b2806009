// Keys and orders.
#include "text/template/sequence_ops.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "text/template/attributes.h"
#include "text/template/operators.h"
#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

Result<Value> one_key(Runtime& runtime, const Value& item, const Value* path, const KeyOptions& options) {
  Value key = item;
  if (path != nullptr) {
    KVERN_TRY(key, get_path(runtime, item, *path));
    if (key.is_undefined() && options.fallback != nullptr) key = *options.fallback;
  }
  if (options.case_sensitive || !key.is_string()) return key;
  return runtime.string(to_lower(key.text()));
}

}  // namespace

Result<Value> sort_key(Runtime& runtime, const Value& item, const KeyOptions& options) {
  const Value* attribute = options.attribute;
  if (attribute == nullptr || attribute->is_none()) return one_key(runtime, item, nullptr, options);
  if (!attribute->is_string() || attribute->text().find(',') == std::string::npos) {
    return one_key(runtime, item, attribute, options);
  }
  std::vector<Value> parts;
  std::string_view rest = attribute->text();
  while (true) {
    const size_t comma = rest.find(',');
    const Value path = Value::literal(std::string(rest.substr(0, comma)));
    KVERN_TRY(Value part, one_key(runtime, item, &path, options));
    parts.push_back(std::move(part));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return runtime.list(std::move(parts), List::Kind::kTuple);
}

Result<std::vector<Value>> sort_keys(Runtime& runtime, const std::vector<Value>& items,
                                     const KeyOptions& options) {
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value& item : items) {
    KVERN_TRY(Value key, sort_key(runtime, item, options));
    keys.push_back(std::move(key));
  }
  return keys;
}

Result<std::vector<size_t>> sorted_order(Runtime& runtime, const std::vector<Value>& keys,
                                         Direction direction) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Status status = Ok{};
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (!status) return false;
    const bool ascending = direction == Direction::kAscending;
    const auto before = less(runtime, keys[ascending ? a : b], keys[ascending ? b : a]);
    if (!before) status = std::unexpected(before.error());
    return before && *before;
  });
  KVERN_TRY_STATUS(status);
  return order;
}

}  // namespace kvern::jinja
