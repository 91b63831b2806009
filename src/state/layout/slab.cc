#include "state/layout/slab.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "state/layout/ranges.h"
#include "state/planted_fault.h"

namespace kvern::state {
namespace {

size_t chunks_for(int64_t length) { return static_cast<size_t>(divide_up(length, kSlabChunk)); }

}  // namespace

SlabLayout::SlabLayout(StoreSpec spec, MemoryAccount& account, bool poison)
    : spec_(std::move(spec)), account_(account), poison_(poison), format_(spec_.geometry, kSlabChunk) {}

void SlabLayout::remove_row(RowSlot slot) {
  cut(slot, 0);
  rows_.remove(slot);
}

// Whether a chunk has a position that is held.
bool SlabLayout::needed(size_t chunk, const Held& held) const {
  const int64_t begin = static_cast<int64_t>(chunk) * kSlabChunk;
  return holds_any(spec_, held, begin, begin + kSlabChunk);
}

// Takes the chunks that `held` needs and the row lacks, or none.
Status SlabLayout::fill(Row& row, const Held& held) {
  const size_t before = row.chunks.size();
  const size_t count = chunks_for(held.length);
  // The last one that the row has may have held nothing.
  const size_t first = before == 0 ? 0 : before - 1;
  // Both lists grow with what the account gives, so that a length without memory for it costs none.
  std::vector<size_t> taken;
  for (size_t i = first; i < count; ++i) {
    if (i == row.chunks.size()) row.chunks.emplace_back();
    if (row.chunks[i].data() != nullptr || !needed(i, held)) continue;
    auto chunk = account_.allocate(format_.bytes());
    if (!chunk) {
      for (const size_t t : taken) row.chunks[t] = {};
      row.chunks.resize(before);
      return std::unexpected(std::move(chunk).error());
    }
    if (poison_) std::memset(chunk->data(), 0xff, chunk->size());
    row.chunks[i] = *std::move(chunk);
    taken.push_back(i);
  }
  live_chunks_ += taken.size();
  row.held = held;
  return Ok{};
}

Status SlabLayout::extend(RowSlot slot, int64_t length) {
  Row& row = rows_[slot];
  KVERN_DCHECK(length >= row.held.length);
  return fill(row, {row.held.tail_begin, length});
}

Status SlabLayout::assign(RowSlot slot, const Held& held) {
  KVERN_DCHECK(rows_[slot].held.length == 0);
  return fill(rows_[slot], held);
}

// Gives back the chunks with positions of [begin, end) that hold nothing any more.
void SlabLayout::release_unneeded(Row& row, int64_t begin, int64_t end) {
  const size_t last = std::min(row.chunks.size(), chunks_for(end));
  for (auto i = static_cast<size_t>(begin / kSlabChunk); i < last; ++i) {
    if (row.chunks[i].data() == nullptr || needed(i, row.held)) continue;
    row.chunks[i] = {};
    --live_chunks_;
  }
  row.chunks.resize(std::min(row.chunks.size(), chunks_for(row.held.length)));
}

void SlabLayout::cut(RowSlot slot, int64_t length) {
  Row& row = rows_[slot];
  const int64_t before = row.held.length;
  row.held.length = length;
  release_unneeded(row, length, before);
  if (poison_) poison_unheld(row, length, before);
  if (length == 0) row.held.tail_begin = spec_.origin;
}

void SlabLayout::drop(RowSlot slot, int64_t tail_begin) {
  Row& row = rows_[slot];
  const int64_t before = std::max(row.held.tail_begin, spec_.head_end);
  row.held.tail_begin = std::max(row.held.tail_begin, tail_begin);
  if (tail_begin <= before) return;
  release_unneeded(row, before, tail_begin);
  if (poison_) poison_unheld(row, before, std::min(tail_begin, row.held.length));
}

Status SlabLayout::fork(RowSlot from, RowSlot to) {
  KVERN_TRY_STATUS(fill(rows_[to], rows_[from].held));
  const Row& source = rows_[from];
  for (size_t i = 0; i < source.chunks.size(); ++i) {
    if (source.chunks[i].data() == nullptr) continue;
    std::memcpy(rows_[to].chunks[i].data(), source.chunks[i].data(), format_.bytes());
  }
  if (planted(Fault::kForkMissesNewest) && source.held.length > spec_.origin) {
    const int64_t newest = source.held.length - 1;
    format_.poison(rows_[to].chunks.back().data(), newest % kSlabChunk, 1);
  }
  return Ok{};
}

void SlabLayout::collect(RowSlot slot, const StreamId& stream, int64_t begin, int64_t end,
                         RunList& out) const {
  const MemoryAccount::Block* chunks = rows_[slot].chunks.data();
  while (begin < end) {
    const auto index = static_cast<uint64_t>(begin) / kSlabChunk;
    const auto first = static_cast<int64_t>(static_cast<uint64_t>(begin) % kSlabChunk);
    const int64_t count = std::min(end - begin, kSlabChunk - first);
    KVERN_DCHECK(chunks[index].data() != nullptr);
    out.push(format_.run(chunks[index].data(), stream, first, count));
    begin += count;
  }
}

size_t SlabLayout::row_bytes(const Held& held) const {
  return static_cast<size_t>(count_units(spec_, held, kSlabChunk)) * format_.bytes();
}

// Overwrites positions [begin, end), none of which is held, where they lie in chunks that stay.
void SlabLayout::poison_unheld(const Row& row, int64_t begin, int64_t end) const {
  for (int64_t p = begin; p < end;) {
    const int64_t stop = std::min(end, (p / kSlabChunk + 1) * kSlabChunk);
    const auto index = static_cast<size_t>(p / kSlabChunk);
    if (index < row.chunks.size() && row.chunks[index].data() != nullptr) {
      format_.poison(row.chunks[index].data(), p % kSlabChunk, stop - p);
    }
    p = stop;
  }
}

}  // namespace kvern::state
