#include "state/layout/ring.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "state/planted_fault.h"

namespace kvern::state {
namespace {

// The smallest of 1, 1.5, 2, 3, 4, 6, ... steps that holds `positions`: for what may grow without end.
int64_t geometric(int64_t positions) {
  if (positions == 0) return 0;
  int64_t capacity = kRingStep;
  while (capacity < positions) capacity *= 2;
  const int64_t smaller = capacity / 4 * 3;
  return capacity > kRingStep && smaller >= positions ? smaller : capacity;
}

}  // namespace

RingLayout::RingLayout(StoreSpec spec, MemoryAccount& account, bool poison)
    : spec_(std::move(spec)), account_(account), poison_(poison) {}

int64_t RingLayout::head_capacity(const Held& held) const {
  return std::min(geometric(head_range(spec_, held).size()), spec_.head_end - spec_.origin);
}

int64_t RingLayout::ring_capacity(const Held& held) const {
  const int64_t positions = tail_range(spec_, held).size();
  if (spec_.tail == 0) return geometric(positions);
  const int64_t full = spec_.tail + kRingRoom;
  const int64_t stepped = round_up(positions, kRingStep);
  return positions <= full ? std::min(stepped, full) : stepped;
}

size_t RingLayout::row_bytes(const Held& held) const {
  size_t sum = 0;
  for (const int64_t capacity : {head_capacity(held), ring_capacity(held)}) {
    if (capacity == 0) continue;
    const auto known = formats_.find(capacity);
    sum += known != formats_.end() ? known->second.bytes() : PageFormat(spec_.geometry, capacity).bytes();
  }
  return sum;
}

// A ring that found no memory for a smaller buffer has a larger one than its row asks for.
size_t RingLayout::live_bytes(std::span<const RowSlot> slots) {
  size_t sum = 0;
  for (const RowSlot slot : slots) sum += rows_[slot].head.block.size() + rows_[slot].ring.block.size();
  return sum;
}

const PageFormat& RingLayout::format(int64_t capacity) {
  return formats_.try_emplace(capacity, spec_.geometry, capacity).first->second;
}

Result<RingLayout::Buffer> RingLayout::make_buffer(int64_t capacity) {
  const PageFormat& shape = format(capacity);
  KVERN_TRY(MemoryAccount::Block block, account_.allocate(shape.bytes()));
  if (poison_) std::memset(block.data(), 0xff, block.size());
  return Buffer{capacity, &shape, std::move(block)};
}

void RingLayout::replace(Buffer& buffer, Buffer next) {
  live_bytes_ += next.block.size();
  live_bytes_ -= buffer.block.size();
  buffer = std::move(next);
}

// Records of positions [slots.begin, slots.end), counted from the same base in both.
void RingLayout::copy(const Buffer& from, const Buffer& to, const PositionRange& slots) const {
  for (int64_t p = slots.begin; p < slots.end;) {
    const int64_t from_slot = (planted(Fault::kRingCopiedFromStart) ? p - slots.begin : p) % from.capacity;
    const int64_t to_slot = p % to.capacity;
    const int64_t count = std::min({slots.end - p, from.capacity - from_slot, to.capacity - to_slot});
    PageSlice{*to.format, to.block.data(), to_slot}.copy_from({*from.format, from.block.data(), from_slot},
                                                              count);
    p += count;
  }
}

PositionRange RingLayout::head_slots(const Held& held) const { return {0, head_range(spec_, held).size()}; }

// Makes the buffers at least as large as `held` asks for, or changes nothing.
Status RingLayout::fit(Row& row, const Held& held) {
  const int64_t head = head_capacity(held);
  const int64_t ring = ring_capacity(held);
  Buffers next;
  if (head > row.head.capacity) {
    KVERN_TRY(next.head, make_buffer(head));
  }
  if (ring > row.ring.capacity) {
    KVERN_TRY(next.ring, make_buffer(ring));
  }
  if (next.head.capacity > 0) {
    copy(row.head, next.head, head_slots(row.held));
    replace(row.head, std::move(next.head));
  }
  if (next.ring.capacity > 0) {
    copy(row.ring, next.ring, tail_range(spec_, row.held));
    replace(row.ring, std::move(next.ring));
  }
  row.held = held;
  settle(row);
  return Ok{};
}

// Makes buffers smaller that are larger than what is held asks for. Without memory for the smaller one the
// larger stays until the next operation.
void RingLayout::settle(Row& row) {
  const auto shrink = [&](Buffer& buffer, int64_t capacity, const PositionRange& slots) {
    if (capacity >= buffer.capacity) return;
    if (capacity == 0) return replace(buffer, {});
    auto smaller = make_buffer(capacity);
    if (!smaller) return;
    copy(buffer, *smaller, slots);
    replace(buffer, *std::move(smaller));
  };
  shrink(row.head, head_capacity(row.held), head_slots(row.held));
  shrink(row.ring, ring_capacity(row.held), tail_range(spec_, row.held));
}

void RingLayout::remove_row(RowSlot slot) {
  cut(slot, 0);
  rows_.remove(slot);
}

Status RingLayout::extend(RowSlot slot, int64_t length) {
  Row& row = rows_[slot];
  KVERN_DCHECK(length >= row.held.length);
  return fit(row, {row.held.tail_begin, length});
}

Status RingLayout::assign(RowSlot slot, const Held& held) {
  KVERN_DCHECK(rows_[slot].held.length == 0);
  return fit(rows_[slot], held);
}

void RingLayout::cut(RowSlot slot, int64_t length) {
  Row& row = rows_[slot];
  if (poison_) poison(row, length, row.held.length);
  row.held.length = length;
  if (length == 0) row.held.tail_begin = spec_.origin;
  settle(row);
}

void RingLayout::drop(RowSlot slot, int64_t tail_begin) {
  Row& row = rows_[slot];
  if (tail_begin > row.held.tail_begin) {
    if (poison_) poison(row, std::max(row.held.tail_begin, spec_.head_end), tail_begin);
    row.held.tail_begin = tail_begin;
  }
  settle(row);
}

Status RingLayout::fork(RowSlot from, RowSlot to) {
  const Row& source = rows_[from];
  Row& row = rows_[to];
  KVERN_TRY_STATUS(fit(row, source.held));
  if (row.head.capacity > 0) copy(source.head, row.head, head_slots(row.held));
  if (row.ring.capacity > 0) copy(source.ring, row.ring, tail_range(spec_, row.held));
  return Ok{};
}

void RingLayout::collect(RowSlot slot, const StreamId& stream, int64_t begin, int64_t end,
                         RunList& out) const {
  const Row& row = rows_[slot];
  if (begin < spec_.head_end) {
    const int64_t stop = std::min(end, spec_.head_end);
    out.push(row.head.format->run(row.head.block.data(), stream, begin - spec_.origin, stop - begin));
    begin = stop;
  }
  while (begin < end) {
    const int64_t at = begin % row.ring.capacity;
    const int64_t count = std::min(end - begin, row.ring.capacity - at);
    const int64_t wrong = planted(Fault::kWrongSlotAfterWrap) && begin > row.ring.capacity && at == 0 ? 1 : 0;
    out.push(row.ring.format->run(row.ring.block.data(), stream, at + wrong, count));
    begin += count;
  }
}

// Overwrites the positions of [begin, end) that the row holds.
void RingLayout::poison(const Row& row, int64_t begin, int64_t end) const {
  const PositionRange head = head_range(spec_, row.held);
  const int64_t head_begin = std::max(begin, head.begin);
  const int64_t head_stop = std::min(end, head.end);
  if (head_begin < head_stop) {
    row.head.format->poison(row.head.block.data(), head_begin - spec_.origin, head_stop - head_begin);
  }
  const PositionRange tail = tail_range(spec_, row.held);
  const int64_t stop = std::min(end, tail.end);
  for (int64_t p = std::max(begin, tail.begin); p < stop;) {
    const int64_t at = p % row.ring.capacity;
    const int64_t count = std::min(stop - p, row.ring.capacity - at);
    row.ring.format->poison(row.ring.block.data(), at, count);
    p += count;
  }
}

}  // namespace kvern::state
