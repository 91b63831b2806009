// Slab: every row has storage of its own that grows with it.
#pragma once

#include <vector>

#include "state/layout/layout.h"
#include "state/layout/page_format.h"
#include "state/layout/row_table.h"

namespace kvern::state {

/// Positions of one chunk of a slab. Growing adds a chunk and copies nothing; chunks that hold only dropped
/// positions are given back.
inline constexpr int64_t kSlabChunk = 256;

class SlabLayout final : public Layout {
 public:
  SlabLayout(StoreSpec spec, MemoryAccount& account, bool poison);

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
  LayoutUsage usage() const override { return {.live = live_chunks_ * format_.bytes()}; }

 private:
  struct Row {
    Held held;
    std::vector<MemoryAccount::Block> chunks;  // by position / kSlabChunk; empty where nothing is held
  };

  bool needed(size_t chunk, const Held& held) const;
  Status fill(Row& row, const Held& held);
  void release_unneeded(Row& row, int64_t begin, int64_t end);
  void poison_unheld(const Row& row, int64_t begin, int64_t end) const;

  StoreSpec spec_;
  MemoryAccount& account_;
  bool poison_;
  PageFormat format_;
  size_t live_chunks_ = 0;
  RowTable<Row> rows_;
};

}  // namespace kvern::state
