// Rows ahead of their turn: a pass empties the processor's caches, so that each row of a step would be waited
// for in memory, one after the other.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "engine/loop/row.h"

namespace kvern::engine {

/// Asks the memory for [begin, end), which is written soon.
inline void fetch_ahead(const void* begin, const void* end) {
  constexpr size_t kLine = 64;
  for (const auto* at = static_cast<const char*>(begin); at < end; at += kLine) __builtin_prefetch(at, 1);
}

/// Calls `each(item)` in order, and has what a step needs of the rows behind it fetched meanwhile.
/// `row_of(item)` is the row of one. Changes nothing but time.
template <typename Item, typename RowOf, typename Each>
void for_each_fetched(std::span<Item> items, const RowOf& row_of, const Each& each) {
  // A row says where its request and its tokens are, so the one is fetched before the others.
  constexpr size_t kRowAhead = 12;
  constexpr size_t kRequestAhead = 6;
  const auto fetch_row = [&](size_t i) {
    if (i >= items.size()) return;
    const Row* row = std::invoke(row_of, items[i]);
    fetch_ahead(row, &row->sampling);
  };
  const auto fetch_request = [&](size_t i) {
    if (i >= items.size()) return;
    const Row& row = *std::invoke(row_of, items[i]);
    fetch_ahead(row.request, &row.request->spec);
    fetch_ahead(row.tokens.data() + row.tokens.size(), row.tokens.data() + row.tokens.size() + 1);
    const auto text = row.text->memory();
    fetch_ahead(text.data(), text.data() + text.size());
  };
  for (size_t i = 0; i < kRowAhead; ++i) fetch_row(i);
  for (size_t i = 0; i < kRequestAhead; ++i) fetch_request(i);
  for (size_t i = 0; i < items.size(); ++i) {
    fetch_row(i + kRowAhead);
    fetch_request(i + kRequestAhead);
    each(items[i]);
  }
}

}  // namespace kvern::engine
