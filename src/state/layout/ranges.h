// Which positions a row holds, as ranges. For the layouts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "state/layout/layout.h"

namespace kvern::state {

/// Positions [begin, end); begin <= end.
struct PositionRange {
  int64_t begin = 0;
  int64_t end = 0;

  bool operator==(const PositionRange&) const = default;
  int64_t size() const { return end - begin; }
  bool overlaps(int64_t first, int64_t last) const { return std::max(begin, first) < std::min(end, last); }
};

/// The positions that are never dropped.
inline PositionRange head_range(const StoreSpec& spec, const Held& held) {
  return {spec.origin, std::max(spec.origin, std::min(spec.head_end, held.length))};
}

/// The positions behind the head.
inline PositionRange tail_range(const StoreSpec& spec, const Held& held) {
  const int64_t begin = std::max(spec.head_end, held.tail_begin);
  return {begin, std::max(begin, held.length)};
}

inline bool holds_any(const StoreSpec& spec, const Held& held, int64_t first, int64_t last) {
  return head_range(spec, held).overlaps(first, last) || tail_range(spec, held).overlaps(first, last);
}

inline int64_t held_positions(const StoreSpec& spec, const Held& held) {
  return head_range(spec, held).size() + tail_range(spec, held).size();
}

constexpr int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

/// How many of the units of `size` positions, counted from position 0, have a position that is held.
inline int64_t count_units(const StoreSpec& spec, const Held& held, int64_t size) {
  const PositionRange head = head_range(spec, held);
  const PositionRange tail = tail_range(spec, held);
  const auto units = [&](const PositionRange& range) {
    return range.size() == 0 ? 0 : divide_up(range.end, size) - range.begin / size;
  };
  // The unit in which the head ends may be the one in which the tail begins.
  const bool common = head.size() > 0 && tail.size() > 0 && (head.end - 1) / size == tail.begin / size;
  return units(head) + units(tail) - (common ? 1 : 0);
}
constexpr int64_t round_up(int64_t value, int64_t to) { return divide_up(value, to) * to; }

}  // namespace kvern::state
