// Paged: rows are tables of pages of a pool; what rows have in common they share.
//
// A page may be referenced by several rows. Nobody writes such a page: a row that is extended into it gets a
// copy of what it holds of it first. Pages of which a row holds nothing are holes in its table.
#pragma once

#include <vector>

#include "state/layout/layout.h"
#include "state/layout/page_format.h"
#include "state/layout/page_pool.h"
#include "state/layout/ranges.h"
#include "state/layout/row_table.h"

namespace kvern::state {

class PagedLayout final : public Layout {
 public:
  /// `page`: see check_page().
  PagedLayout(StoreSpec spec, MemoryAccount& account, int64_t page, bool poison);

  RowSlot add_row() override { return rows_.add({.tail_begin = spec_.origin, .length = 0}); }
  void remove_row(RowSlot slot) override;
  Status extend(RowSlot slot, int64_t length) override;
  Status assign(RowSlot slot, const Held& held) override;
  void cut(RowSlot slot, int64_t length) override;
  void drop(RowSlot slot, int64_t tail_begin) override;
  Status fork(RowSlot from, RowSlot to) override;
  std::unique_ptr<PinnedRow> pin(RowSlot slot) override;
  Held held(RowSlot slot) const override { return rows_[slot].held; }
  void collect(RowSlot slot, const StreamId& stream, int64_t begin, int64_t end, RunList& out) const override;
  size_t row_bytes(const Held& held) const override;
  LayoutUsage usage() const override;
  size_t live_bytes(std::span<const RowSlot> slots) override;

 private:
  class Pinned;

  // The address of the page is here too, so that a read need not touch the page's books.
  struct Entry {
    std::byte* data = nullptr;
    Page* page = nullptr;
  };
  struct Row {
    Held held;
    std::vector<Entry> table;  // by position / page
  };

  size_t page_of(int64_t position) const { return static_cast<size_t>(position >> shift_); }
  int64_t begin_of(size_t index) const { return static_cast<int64_t>(index) << shift_; }
  size_t pages_for(int64_t length) const { return page_of(length + page_ - 1); }
  bool needed(size_t index, const Held& held) const;
  Status fill(Row& row, const Held& held, int64_t first_new);
  void collect(const std::vector<Entry>& table, const StreamId& stream, const PositionRange& range,
               RunList& out) const;
  void copy_held(const Row& row, size_t index, std::byte* to) const;
  void release_unneeded(Row& row, size_t first, size_t last);
  void poison_own(const Row& row, int64_t begin, int64_t end) const;

  StoreSpec spec_;
  int64_t page_;
  int shift_;  // page = 2^shift
  bool poison_;
  PageFormat format_;
  PagePool pool_;
  RowTable<Row> rows_;
  std::vector<Page*> taken_;  // of one fill
};

}  // namespace kvern::state
