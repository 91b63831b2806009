// What filters over sequences share: keys to order by, sorting with errors.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "text/template/runtime.h"
#include "text/template/value.h"

namespace kvern::jinja {

/// How a filter looks at items: at the item or a part of it, with or without regard to case.
struct KeyOptions {
  const Value* attribute = nullptr;  ///< A path, or several separated by commas; null: the item itself.
  bool case_sensitive = false;
  const Value* fallback = nullptr;  ///< In place of an undefined part; null: leave it.
};

/// The value of an item to compare by.
Result<Value> sort_key(Runtime& runtime, const Value& item, const KeyOptions& options);
/// The same for each item.
Result<std::vector<Value>> sort_keys(Runtime& runtime, const std::vector<Value>& items,
                                     const KeyOptions& options);

enum class Direction : uint8_t { kAscending, kDescending };
/// Order of the keys, as indices; equal keys keep their order in both directions.
Result<std::vector<size_t>> sorted_order(Runtime& runtime, const std::vector<Value>& keys,
                                         Direction direction);

}  // namespace kvern::jinja
