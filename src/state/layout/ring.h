// Ring: the tail of a row in a buffer of fixed capacity, position p at slot p mod capacity; the head, which
// is never dropped, in a buffer of its own.
//
// The capacity is a function of what the row holds (row_bytes). It follows StoreSpec::tail in steps and ends
// with room for a step of some tokens behind a full tail, so that a row that decodes or speculates never
// changes it. A step that brings more makes the ring larger until the row is dropped or cut again. Records
// are copied as they are whenever the capacity changes.
#pragma once

#include <map>

#include "state/layout/layout.h"
#include "state/layout/page_format.h"
#include "state/layout/ranges.h"
#include "state/layout/row_table.h"

namespace kvern::state {

/// A ring grows by so many positions at a time until it has room for the tail and a step.
inline constexpr int64_t kRingStep = 256;
/// Positions of a step for which a ring with a full tail has room.
inline constexpr int64_t kRingRoom = 16;

class RingLayout final : public Layout {
 public:
  RingLayout(StoreSpec spec, MemoryAccount& account, bool poison);

  RowSlot add_row() override { return rows_.add({.tail_begin = spec_.origin, .length = 0}); }
  void remove_row(RowSlot slot) override;
  Status extend(RowSlot slot, int64_t length) override;
  Status assign(RowSlot slot, const Held& held) override;
  void cut(RowSlot slot, int64_t length) override;
  void drop(RowSlot slot, int64_t tail_begin) override;
  Status fork(RowSlot from, RowSlot to) override;
  Held held(RowSlot slot) const override { return rows_[slot].held; }
  void collect(RowSlot slot, const StreamId& stream, int64_t begin, int64_t end, RunList& out) const override;
  size_t row_bytes(const Held& held) const override;
  LayoutUsage usage() const override { return {.live = live_bytes_}; }
  size_t live_bytes(std::span<const RowSlot> slots) override;

 private:
  // Some records of all streams; holds position p of its range at slot (p - base) mod capacity.
  struct Buffer {
    int64_t capacity = 0;
    const PageFormat* format = nullptr;
    MemoryAccount::Block block;
  };
  struct Row {
    Held held;
    Buffer head;  // of positions from the origin on; never wraps
    Buffer ring;
  };
  struct Buffers {
    Buffer head;
    Buffer ring;
  };

  int64_t head_capacity(const Held& held) const;
  int64_t ring_capacity(const Held& held) const;
  const PageFormat& format(int64_t capacity);
  Result<Buffer> make_buffer(int64_t capacity);
  Status fit(Row& row, const Held& held);
  void settle(Row& row);
  void replace(Buffer& buffer, Buffer next);
  void copy(const Buffer& from, const Buffer& to, const PositionRange& slots) const;
  PositionRange head_slots(const Held& held) const;
  void poison(const Row& row, int64_t begin, int64_t end) const;

  StoreSpec spec_;
  MemoryAccount& account_;
  bool poison_;
  size_t live_bytes_ = 0;
  std::map<int64_t, PageFormat> formats_;  // by capacity
  RowTable<Row> rows_;
};

}  // namespace kvern::state
