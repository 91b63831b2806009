#include "state/sequence/row_shape.h"

#include <algorithm>

#include "state/planted_fault.h"

namespace kvern::state {

Held canonical(const StoreSpec& spec, Held held) {
  // A store that got shorter, since only its first positions stay in this form, may say that more was dropped
  // than it has.
  held.tail_begin = std::min(held.tail_begin, held.length);
  if (held.tail_begin <= spec.head_end || planted(Fault::kWindowNotSaved)) held.tail_begin = spec.origin;
  return held;
}

std::vector<PositionRange> held_ranges(const RowStore& store, const Held& held) {
  const StoreSpec spec{.geometry = {}, .origin = store.origin, .head_end = store.head_end};
  const PositionRange head = head_range(spec, held);
  const PositionRange tail = tail_range(spec, held);
  std::vector<PositionRange> ranges;
  if (head.size() > 0) ranges.push_back(head);
  if (tail.size() == 0) return ranges;
  if (!ranges.empty() && ranges.back().end == tail.begin) {
    ranges.back().end = tail.end;
  } else {
    ranges.push_back(tail);
  }
  return ranges;
}

std::vector<PositionRange> held_pieces(const RowStore& store, const Held& held, int64_t page) {
  std::vector<PositionRange> pieces;
  for (const PositionRange& range : held_ranges(store, held)) {
    for (int64_t p = range.begin; p < range.end;) {
      const int64_t end = std::min(range.end, (p / page + 1) * page);
      pieces.push_back({p, end});
      p = end;
    }
  }
  return pieces;
}

}  // namespace kvern::state
