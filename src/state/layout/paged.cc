#include "state/layout/paged.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "state/layout/ranges.h"
#include "state/planted_fault.h"

namespace kvern::state {

PagedLayout::PagedLayout(StoreSpec spec, MemoryAccount& account, int64_t page, bool poison)
    : spec_(std::move(spec)),
      page_(page),
      shift_(std::countr_zero(static_cast<uint64_t>(page))),
      poison_(poison),
      format_(spec_.geometry, page),
      pool_(account, format_.bytes(), poison) {
  KVERN_CHECK(check_page(page));
}

bool PagedLayout::needed(size_t index, const Held& held) const {
  return holds_any(spec_, held, begin_of(index), begin_of(index + 1));
}

void PagedLayout::remove_row(RowSlot slot) {
  cut(slot, 0);
  rows_.remove(slot);
}

Status PagedLayout::extend(RowSlot slot, int64_t length) {
  Row& row = rows_[slot];
  KVERN_DCHECK(length >= row.held.length);
  return fill(row, {row.held.tail_begin, length}, row.held.length);
}

Status PagedLayout::assign(RowSlot slot, const Held& held) {
  KVERN_DCHECK(rows_[slot].held.length == 0);
  return fill(rows_[slot], held, 0);
}

// Makes the row hold `held`, with pages of its own for all positions from `first_new` on.
Status PagedLayout::fill(Row& row, const Held& held, int64_t first_new) {
  if (held.length == first_new) {
    row.held = held;
    return Ok{};
  }
  const size_t count = pages_for(held.length);
  row.table.reserve(count);
  const auto lacks = [&](size_t i) {
    if (!needed(i, held)) return false;
    return i >= row.table.size() || row.table[i].page == nullptr ||
           (row.table[i].page->references > 1 && !planted(Fault::kSharedPageWritten));
  };
  // Only the first of these pages can be one that the row has.
  const size_t first = page_of(first_new);
  size_t missing = 0;
  for (size_t i = first; i < count; ++i) missing += lacks(i) ? 1 : 0;
  taken_.clear();
  KVERN_TRY_STATUS(pool_.take(missing, taken_));

  auto next = taken_.begin();
  for (size_t i = first; i < count; ++i) {
    if (!lacks(i)) {
      if (i >= row.table.size()) row.table.resize(i + 1);
      continue;
    }
    Page* page = *next++;
    if (i >= row.table.size()) row.table.resize(i + 1);
    if (row.table[i].page != nullptr) {
      if (!planted(Fault::kStaleCopy)) copy_held(row, i, page->data);
      pool_.release(row.table[i].page);
    }
    row.table[i] = {page->data, page};
  }
  const int64_t old_length = row.held.length;
  row.held = held;
  // A page that was shared when the row was cut may still have what the others held.
  if (poison_) poison_own(row, old_length, std::min(held.length, begin_of(page_of(old_length) + 1)));
  return Ok{};
}

// Copies what the row holds in a page of its table.
void PagedLayout::copy_held(const Row& row, size_t index, std::byte* to) const {
  const int64_t begin = begin_of(index);
  for (const PositionRange& range : {head_range(spec_, row.held), tail_range(spec_, row.held)}) {
    const int64_t first = std::max(range.begin, begin);
    const int64_t last = std::min(range.end, begin + page_);
    if (first >= last) continue;
    PageSlice{format_, to, first - begin}.copy_from({format_, row.table[index].data, first - begin},
                                                    last - first);
  }
}

// Gives back the pages in [first, last) that the row no longer needs; the last ones first, so that a row that
// grows again gets them again in order.
void PagedLayout::release_unneeded(Row& row, size_t first, size_t last) {
  for (size_t i = std::min(last, row.table.size()); i-- > first;) {
    if (row.table[i].page == nullptr || needed(i, row.held)) continue;
    pool_.release(row.table[i].page);
    row.table[i] = {};
  }
  row.table.resize(std::min(row.table.size(), pages_for(row.held.length)));
}

void PagedLayout::cut(RowSlot slot, int64_t length) {
  Row& row = rows_[slot];
  const int64_t before = row.held.length;
  row.held.length = length;
  release_unneeded(row, page_of(length), row.table.size());
  if (poison_) poison_own(row, length, before);
  if (length == 0) row.held.tail_begin = spec_.origin;
}

void PagedLayout::drop(RowSlot slot, int64_t tail_begin) {
  Row& row = rows_[slot];
  const int64_t before = std::max(row.held.tail_begin, spec_.head_end);
  row.held.tail_begin = std::max(row.held.tail_begin, tail_begin);
  if (tail_begin <= before) return;
  release_unneeded(row, page_of(before), page_of(tail_begin) + 1);
  if (poison_) poison_own(row, before, std::min(tail_begin, row.held.length));
}

Status PagedLayout::fork(RowSlot from, RowSlot to) {
  rows_[to].table = rows_[from].table;
  rows_[to].held = rows_[from].held;
  for (const Entry& entry : rows_[to].table) {
    if (entry.page != nullptr) pool_.share(entry.page);
  }
  return Ok{};
}

// A table of pages with a reference to each, so that nobody writes to them.
class PagedLayout::Pinned final : public PinnedRow {
 public:
  Pinned(PagedLayout& layout, std::vector<Entry> table) : layout_(layout), table_(std::move(table)) {
    for (const Entry& entry : table_) {
      if (entry.page != nullptr) layout_.pool_.share(entry.page);
    }
  }
  ~Pinned() override {
    for (const Entry& entry : table_) {
      if (entry.page != nullptr) layout_.pool_.release(entry.page);
    }
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  void collect(const StreamId& stream, int64_t begin, int64_t end, RunList& out) const override {
    layout_.collect(table_, stream, {begin, end}, out);
  }

 private:
  PagedLayout& layout_;  // other threads use what of it never changes
  std::vector<Entry> table_;
};

std::unique_ptr<PinnedRow> PagedLayout::pin(RowSlot slot) {
  return std::make_unique<Pinned>(*this, rows_[slot].table);
}

void PagedLayout::collect(RowSlot slot, const StreamId& stream, int64_t begin, int64_t end,
                          RunList& out) const {
  collect(rows_[slot].table, stream, {begin, end}, out);
}

void PagedLayout::collect(const std::vector<Entry>& table, const StreamId& stream, const PositionRange& range,
                          RunList& out) const {
  for (int64_t begin = range.begin; begin < range.end;) {
    const size_t index = page_of(begin);
    const int64_t first = begin & (page_ - 1);
    const int64_t count = std::min(range.end - begin, page_ - first);
    KVERN_DCHECK(table[index].data != nullptr);
    out.push(format_.run(table[index].data, stream, first, count));
    begin += count;
  }
}

size_t PagedLayout::row_bytes(const Held& held) const {
  return static_cast<size_t>(count_units(spec_, held, page_)) * format_.bytes();
}

LayoutUsage PagedLayout::usage() const {
  return {.live = pool_.used_pages() * pool_.page_bytes(),
          .shared = pool_.shared_pages() * pool_.page_bytes(),
          .slack = pool_.free_pages() * pool_.page_bytes()};
}

size_t PagedLayout::live_bytes(std::span<const RowSlot> slots) {
  const uint32_t count = pool_.new_count();
  size_t pages = 0;
  for (const RowSlot slot : slots) {
    for (const Entry& entry : rows_[slot].table) {
      if (entry.page == nullptr || std::exchange(entry.page->count, count) == count) continue;
      ++pages;
    }
  }
  return pages * pool_.page_bytes();
}

// Overwrites positions [begin, end), which the row does not hold, where the page is its alone.
void PagedLayout::poison_own(const Row& row, int64_t begin, int64_t end) const {
  while (begin < end) {
    const size_t index = page_of(begin);
    const int64_t first = begin & (page_ - 1);
    const int64_t count = std::min(end - begin, page_ - first);
    if (index < row.table.size() && row.table[index].page != nullptr &&
        row.table[index].page->references == 1) {
      format_.poison(row.table[index].data, first, count);
    }
    begin += count;
  }
}

}  // namespace kvern::state
