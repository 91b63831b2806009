#include "state/attend/masks.h"

#include <algorithm>

#include "base/check.h"

namespace kvern::state {
namespace {

// The tensor grows by so many columns (the reference's step).
constexpr int64_t kGrowth = 256;

bool in_window(int64_t query, int64_t key, int64_t window) { return window == 0 || query < key + window; }

// Sets what f(row, query, key) says.
template <typename F>
AttentionMask filled(int64_t rows, int64_t queries, int64_t keys, const F& f) {
  AttentionMask mask(rows, queries, keys);
  for (int64_t b = 0; b < rows; ++b) {
    for (int64_t i = 0; i < queries; ++i) {
      for (int64_t j = 0; j < keys; ++j) mask.allow[mask.index(b, i, j)] = f(b, i, j) ? 1 : 0;
    }
  }
  return mask;
}

// Old columns in time order.
std::vector<int64_t> time_order(const RotatingPositions& p) {
  std::vector<int64_t> order;
  const bool round = p.head != p.columns && p.head < p.written;
  if (round) {
    for (int64_t c = p.head; c < p.columns; ++c) order.push_back(c);
  }
  for (int64_t c = 0; c < p.head; ++c) order.push_back(c);
  return order;
}

int64_t wrap(int64_t value, int64_t size) { return ((value % size) + size) % size; }

void shift_pads(RotatingPositions& p, int64_t by) {
  for (int64_t& pad : p.pads) pad += by;
}

// Columns rolled right, each row by its own number; the rows lose so many positions at their end.
ColumnMoves roll(RotatingPositions& p, std::span<const int64_t> by) {
  ColumnMoves moves{.columns = p.columns, .from = {}};
  for (size_t b = 0; b < by.size(); ++b) {
    for (int64_t c = 0; c < p.columns; ++c) moves.from.push_back(wrap(c - by[b], p.columns));
    p.offsets[b] -= by[b];
    p.pads[b] += by[b];
  }
  return moves;
}

std::vector<int64_t> processed_padding(const RotatingPositions& p) {
  std::vector<int64_t> by;
  by.reserve(p.ends.size());
  for (size_t b = 0; b < p.ends.size(); ++b) by.push_back(std::max<int64_t>(0, p.offsets[b] - p.ends[b]));
  return by;
}

ColumnMoves append_one(RotatingPositions& p) {
  std::vector<int64_t> columns(static_cast<size_t>(p.columns));
  for (int64_t c = 0; c < p.columns; ++c) columns[static_cast<size_t>(c)] = c;
  if (p.written >= p.columns && p.columns < p.capacity) {
    columns.resize(columns.size() + static_cast<size_t>(std::min(kGrowth, p.capacity - p.written)),
                   kEmptyColumn);
    p.head = p.written;
  }
  const auto size = static_cast<int64_t>(columns.size());
  if (size > p.capacity) {  // after a block
    columns.erase(columns.begin(), columns.begin() + (size - p.capacity));
    shift_pads(p, p.capacity - size);
    p.head = p.capacity;
  }
  if (p.head == p.capacity) {
    p.rotated = true;
    p.head = 0;
  }
  if (p.rotated) shift_pads(p, -1);
  columns[static_cast<size_t>(p.head)] = p.columns;  // the new position
  ColumnMoves moves{.columns = static_cast<int64_t>(columns.size()), .from = {}};
  for (size_t b = 0; b < p.offsets.size(); ++b) {
    moves.from.insert(moves.from.end(), columns.begin(), columns.end());
  }
  p.columns = moves.columns;
  ++p.head;
  return moves;
}

ColumnMoves append_block(RotatingPositions& p, int64_t tokens) {
  const int64_t active = p.active();
  const int64_t dropped = std::max<int64_t>(0, active - p.capacity + 1);
  std::vector<int64_t> order = time_order(p);
  order.resize(static_cast<size_t>(active));
  const std::vector<int64_t> rolled = processed_padding(p);
  ColumnMoves moves{.columns = active - dropped + tokens, .from = {}};
  for (size_t b = 0; b < p.offsets.size(); ++b) {
    const int64_t by = rolled.empty() ? 0 : rolled[b];
    for (int64_t c = dropped; c < active; ++c) {
      moves.from.push_back(order[static_cast<size_t>(wrap(c - by, active))]);
    }
    for (int64_t t = 0; t < tokens; ++t) moves.from.push_back(p.columns + t);
    p.offsets[b] -= by;
    p.pads[b] += by - dropped;
  }
  p.columns = moves.columns;
  p.head = moves.columns;
  p.rotated = false;
  return moves;
}

}  // namespace

AttentionMask causal_mask(const CausalShape& shape) {
  const auto [n, o, window] = shape;
  return filled(1, n, o + n,
                [&](int64_t, int64_t i, int64_t j) { return j <= o + i && in_window(o + i, j, window); });
}

AttentionMask bidirectional_mask(std::span<const bool> flags, int64_t window) {
  const auto n = static_cast<int64_t>(flags.size());
  return filled(1, n, n, [&](int64_t, int64_t i, int64_t j) {
    const bool both = flags[static_cast<size_t>(i)] && flags[static_cast<size_t>(j)];
    return both || (j <= i && in_window(i, j, window));
  });
}

AttentionMask padded_mask(std::span<const PaddedMaskRow> rows, int64_t queries, int64_t window) {
  int64_t end = 0;
  for (const PaddedMaskRow& row : rows) end = std::max(end, row.end);
  const auto count = static_cast<int64_t>(rows.size());
  return filled(count, queries, end + queries, [&](int64_t b, int64_t i, int64_t j) {
    const PaddedMaskRow& row = rows[static_cast<size_t>(b)];
    if (j < row.pad || j > row.end + i) return false;
    return j < row.head_end || (j >= row.tail && in_window(row.end + i, j, window));
  });
}

AttentionMask right_padded_mask(std::span<const int64_t> lengths, int64_t width) {
  return filled(static_cast<int64_t>(lengths.size()), width, width, [&](int64_t b, int64_t i, int64_t j) {
    return j <= i && j < lengths[static_cast<size_t>(b)];
  });
}

AttentionMask rotating_row_mask(const CausalShape& shape, int64_t capacity) {
  return causal_mask({shape.queries, std::min(shape.offset, capacity - 1), shape.window});
}

RotatingPositions merge_rotating(int64_t capacity, std::span<const RotatingSource> rows) {
  RotatingPositions p{.capacity = capacity, .offsets = {}, .pads = {}, .ends = {}};
  for (const RotatingSource& row : rows) {
    KVERN_CHECK(row.held <= capacity);
    p.head = std::max(p.head, row.held);
  }
  for (const RotatingSource& row : rows) {
    p.offsets.push_back(row.length);
    p.pads.push_back(p.head - row.held);
  }
  p.columns = p.head;
  p.written = p.head;
  return p;
}

AttentionMask rotating_mask(const RotatingPositions& p, int64_t queries, int64_t window) {
  const bool block = queries > 1 || !p.ends.empty();
  const bool round = !block && (p.rotated || p.head >= p.capacity);
  const int64_t before = std::min(p.capacity - 1, p.written);
  const int64_t history = block && p.rotated ? p.capacity : p.head;
  const int64_t cut = std::max<int64_t>(0, history - p.capacity + (block ? 1 : 0));
  const int64_t shift = round ? (p.head >= p.capacity ? 0 : p.head) + 1 : 0;
  const int64_t keys = before + queries;
  return filled(static_cast<int64_t>(p.offsets.size()), queries, keys,
                [&](int64_t b, int64_t i, int64_t column) {
                  const int64_t j = wrap(column - shift, keys);
                  const int64_t pad = p.pads[static_cast<size_t>(b)] - cut - (round ? 1 : 0);
                  return j >= pad && j <= before + i && in_window(before + i, j, window);
                });
}

ColumnMoves rotating_append(RotatingPositions& p, int64_t tokens) {
  const bool block = tokens > 1 || !p.ends.empty();
  ColumnMoves moves = block ? append_block(p, tokens) : append_one(p);
  p.written += tokens;
  for (int64_t& offset : p.offsets) offset += tokens;
  return moves;
}

void expect_right_padding(RotatingPositions& p, std::span<const int64_t> lengths) {
  KVERN_CHECK(lengths.size() == p.offsets.size() && p.ends.empty());
  for (size_t b = 0; b < lengths.size(); ++b) p.ends.push_back(p.offsets[b] + lengths[b]);
}

ColumnMoves settle_right_padding(RotatingPositions& p) {
  std::vector<int64_t> by = processed_padding(p);
  by.resize(p.offsets.size());
  p.ends.clear();
  return roll(p, by);
}

ColumnMoves rotating_rollback(RotatingPositions& p, std::span<const int64_t> lengths) {
  KVERN_CHECK(!p.rotated && lengths.size() == p.offsets.size());
  std::vector<int64_t> by;
  by.reserve(lengths.size());
  for (size_t b = 0; b < lengths.size(); ++b) by.push_back(p.offsets[b] - lengths[b]);
  return roll(p, by);
}

void select_rows(RotatingPositions& p, std::span<const int64_t> rows) {
  const auto chosen = [&](const std::vector<int64_t>& values) {
    std::vector<int64_t> kept;
    for (const int64_t row : rows) kept.push_back(values[static_cast<size_t>(row)]);
    return kept;
  };
  p.offsets = chosen(p.offsets);
  p.pads = chosen(p.pads);
  if (!p.ends.empty()) p.ends = chosen(p.ends);
}

std::vector<int64_t> rotating_columns(const RotatingPositions& p, int64_t row, int64_t limit) {
  const std::vector<int64_t> order = time_order(p);
  const int64_t active = p.active();
  const int64_t first = std::max({int64_t{0}, p.pads[static_cast<size_t>(row)], active - limit});
  if (first >= active) return {};
  return {order.begin() + first, order.begin() + active};
}

}  // namespace kvern::state
