#include "state/layout/padded.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "state/planted_fault.h"

namespace kvern::state {

PaddedLayout::PaddedLayout(StoreSpec spec, MemoryAccount& account, bool poison)
    : spec_(std::move(spec)), account_(account), poison_(poison) {
  for (const LayerGeometry& layer : spec_.geometry.layers) {
    for (const KvSide s : {KvSide::kKey, KvSide::kValue}) {
      const SideGeometry& side = layer.side(s);
      first_plane_.push_back(planes_.size());
      for (int p = 0; p < side.planes(); ++p) {
        planes_.push_back({layer.kv_heads, side.record_bytes[static_cast<size_t>(p)]});
      }
    }
  }
}

int64_t PaddedLayout::column(const Row& row, int64_t position) const {
  if (position < spec_.head_end) return row.pad + position - spec_.origin;
  return row.pad + head_size() + position - row.tail_first;
}

int64_t PaddedLayout::end_of(const Row& row) const {
  if (row.held.length <= spec_.origin) return row.pad;
  if (row.held.length <= spec_.head_end) return row.pad + row.held.length - spec_.origin;
  return row.pad + head_size() + std::max<int64_t>(0, row.held.length - row.tail_first);
}

// Rows that drop positions use up columns; with a spare step they are compacted once in many steps.
int64_t PaddedLayout::columns_for(int64_t width) const {
  return round_up(width, kPaddedStep) + (spec_.tail > 0 ? kPaddedStep : 0);
}

std::byte* PaddedLayout::record(const Tensors& tensors, size_t plane, int64_t row, int64_t head,
                                int64_t column) const {
  const int64_t index = (row * planes_[plane].kv_heads + head) * tensors.columns + column;
  return tensors.planes[plane].data() + static_cast<size_t>(index) * planes_[plane].record_bytes;
}

Result<PaddedLayout::Tensors> PaddedLayout::make_tensors(int64_t rows, int64_t columns) {
  Tensors tensors{.rows = rows, .columns = columns, .planes = {}};
  tensors.planes.reserve(planes_.size());
  for (const Plane& plane : planes_) {
    const auto records = static_cast<size_t>(rows * plane.kv_heads * columns);
    KVERN_TRY(tensors.planes.emplace_back(), account_.allocate(records * plane.record_bytes));
    const MemoryAccount::Block& block = tensors.planes.back();
    std::memset(block.data(), poison_ ? 0xff : 0, block.size());
    tensors.bytes += block.size();
  }
  return tensors;
}

void PaddedLayout::copy_range(const Tensors& to, const Row& to_row, const Row& from,
                              const PositionRange& range) const {
  if (range.size() == 0) return;
  for (size_t p = 0; p < planes_.size(); ++p) {
    const size_t bytes = static_cast<size_t>(range.size()) * planes_[p].record_bytes;
    for (int64_t head = 0; head < planes_[p].kv_heads; ++head) {
      std::memcpy(record(to, p, to_row.index, head, column(to_row, range.begin)),
                  record(tensors_, p, from.index, head,
                         column(from, range.begin) + (planted(Fault::kPaddedColumn) ? 1 : 0)),
                  bytes);
    }
  }
}

std::vector<PaddedLayout::Member> PaddedLayout::members() const {
  std::vector<Member> list;
  list.reserve(in_tensors_.size() + 1);
  for (const RowSlot slot : in_tensors_) list.push_back({slot, rows_[slot].held, &rows_[slot], 0});
  return list;
}

// Builds new tensors of these rows and then releases the old ones, or changes nothing. New positions of rows
// that hold others already come behind the common end.
Status PaddedLayout::arrange(const std::vector<Member>& members) {
  int64_t width = 0;
  int64_t end = 0;
  for (const Member& m : members) {
    const int64_t positions = held_positions(spec_, m.held);
    width = std::max(width, positions - m.new_positions);
  }
  for (const Member& m : members) end = std::max(end, width + m.new_positions);
  Tensors next;
  if (!members.empty()) {
    KVERN_TRY(next, make_tensors(static_cast<int64_t>(members.size()), columns_for(end)));
  }
  std::vector<Row> arranged;
  std::vector<RowSlot> slots;
  arranged.reserve(members.size());
  slots.reserve(members.size());
  for (const Member& m : members) {
    const int64_t old_positions = held_positions(spec_, m.held) - m.new_positions;
    arranged.push_back({.held = m.held,
                        .index = static_cast<int64_t>(slots.size()),
                        .pad = width - old_positions,
                        .tail_first = first_of_tail(m.held)});
    slots.push_back(m.slot);
    if (m.from == nullptr) continue;
    copy_range(next, arranged.back(), *m.from, head_range(spec_, m.from->held));
    copy_range(next, arranged.back(), *m.from, tail_range(spec_, m.from->held));
  }
  for (size_t i = 0; i < slots.size(); ++i) rows_[slots[i]] = arranged[i];
  in_tensors_ = std::move(slots);
  tensors_ = std::move(next);
  return Ok{};
}

Status PaddedLayout::join(RowSlot slot, const Held& held, const Row* from) {
  if (held_positions(spec_, held) == 0) {
    rows_[slot].held = held;
    return Ok{};
  }
  std::vector<Member> list = members();
  list.push_back({slot, held, from, 0});
  return arrange(list);
}

// The row has nothing left in the tensors.
void PaddedLayout::leave(Row& row) {
  std::erase_if(in_tensors_, [&](RowSlot slot) { return &rows_[slot] == &row; });
  row.index = kNone;
  settle();
}

// Arranges anew when rows have left or most columns are unused. Without memory for the smaller tensors the
// larger stay until the next operation.
void PaddedLayout::settle() {
  int64_t width = 0;
  for (const RowSlot slot : in_tensors_) width = std::max(width, held_positions(spec_, rows_[slot].held));
  const bool left = static_cast<size_t>(tensors_.rows) != in_tensors_.size();
  if (left || 2 * columns_for(width) <= tensors_.columns) static_cast<void>(arrange(members()).has_value());
}

void PaddedLayout::remove_row(RowSlot slot) {
  cut(slot, 0);
  rows_.remove(slot);
}

Status PaddedLayout::extend(RowSlot slot, int64_t length) {
  Row& row = rows_[slot];
  KVERN_DCHECK(length >= row.held.length);
  const Held held{row.held.tail_begin, length};
  if (row.index == kNone) return join(slot, held, nullptr);
  Row extended = row;
  extended.held = held;
  if (tail_range(spec_, row.held).size() == 0) extended.tail_first = first_of_tail(held);
  if (end_of(extended) <= tensors_.columns) {
    row = extended;
    return Ok{};
  }
  std::vector<Member> list = members();
  for (Member& m : list) {
    if (m.slot != slot) continue;
    m.held = held;
    m.new_positions = held_positions(spec_, held) - held_positions(spec_, row.held);
  }
  return arrange(list);
}

Status PaddedLayout::assign(RowSlot slot, const Held& held) {
  KVERN_DCHECK(rows_[slot].held.length == 0);
  return join(slot, held, nullptr);
}

Status PaddedLayout::fork(RowSlot from, RowSlot to) {
  const Row& source = rows_[from];
  return join(to, source.held, &source);
}

void PaddedLayout::cut(RowSlot slot, int64_t length) {
  Row& row = rows_[slot];
  const int64_t end = end_of(row);
  row.held.length = length;
  if (length == 0) row.held.tail_begin = spec_.origin;
  if (row.index == kNone) return;
  if (poison_) poison(row, end_of(row), end);
  if (held_positions(spec_, row.held) == 0) return leave(row);
  settle();
}

void PaddedLayout::drop(RowSlot slot, int64_t tail_begin) {
  Row& row = rows_[slot];
  const PositionRange before = tail_range(spec_, row.held);
  row.held.tail_begin = std::max(row.held.tail_begin, tail_begin);
  if (row.index == kNone) return;
  const PositionRange after = tail_range(spec_, row.held);
  const int64_t dropped_end = std::min(before.end, after.begin);
  if (poison_ && before.begin < dropped_end) {
    poison(row, column(row, before.begin), column(row, dropped_end));
  }
  if (held_positions(spec_, row.held) == 0) return leave(row);
  settle();
}

void PaddedLayout::poison(const Row& row, int64_t first_column, int64_t last_column) const {
  const auto count = static_cast<size_t>(last_column - first_column);
  for (size_t p = 0; p < planes_.size(); ++p) {
    for (int64_t head = 0; head < planes_[p].kv_heads; ++head) {
      std::memset(record(tensors_, p, row.index, head, first_column), 0xff, count * planes_[p].record_bytes);
    }
  }
}

void PaddedLayout::collect(RowSlot slot, const StreamId& stream, int64_t begin, int64_t end,
                           RunList& out) const {
  const Row& row = rows_[slot];
  const size_t side = static_cast<size_t>(to_int(stream.layer)) * 2 + static_cast<size_t>(stream.side);
  const size_t first = first_plane_[side];
  const size_t count = (side + 1 < first_plane_.size() ? first_plane_[side + 1] : planes_.size()) - first;
  while (begin < end) {
    const int64_t stop = begin < spec_.head_end ? std::min(end, spec_.head_end) : end;
    EncodedRun run;
    run.count = stop - begin;
    for (size_t p = 0; p < count; ++p) {
      run.planes[p] = record(tensors_, first + p, row.index, stream.kv_head, column(row, begin));
    }
    out.push(run);
    begin = stop;
  }
}

size_t PaddedLayout::row_bytes(const Held& held) const {
  const int64_t columns = round_up(held_positions(spec_, held), kPaddedStep);
  return static_cast<size_t>(columns) * spec_.geometry.bytes_per_token();
}

LayoutUsage PaddedLayout::usage() const {
  size_t live = 0;
  for (const RowSlot slot : in_tensors_) live += row_bytes(rows_[slot].held);
  return {.live = live, .slack = tensors_.bytes - live};
}

PaddedView PaddedLayout::view(LayerIndex layer, KvSide side) const {
  const LayerGeometry& geometry = spec_.geometry.layers[static_cast<size_t>(to_int(layer))];
  PaddedView view{.rows = tensors_.rows,
                  .kv_heads = geometry.kv_heads,
                  .columns = tensors_.columns,
                  .planes = geometry.side(side).planes()};
  if (view.rows == 0) return view;
  const size_t first = first_plane_[static_cast<size_t>(to_int(layer)) * 2 + static_cast<size_t>(side)];
  for (size_t p = 0; p < static_cast<size_t>(view.planes); ++p) {
    const size_t record_bytes = planes_[first + p].record_bytes;
    const size_t head_stride = static_cast<size_t>(view.columns) * record_bytes;
    view.plane[p] = {tensors_.planes[first + p].data(), record_bytes, head_stride,
                     head_stride * static_cast<size_t>(view.kv_heads)};
  }
  return view;
}

PaddedRow PaddedLayout::place(RowSlot slot) const {
  const Row& row = rows_[slot];
  if (row.index == kNone) return {};
  const PositionRange head = head_range(spec_, row.held);
  const PositionRange tail = tail_range(spec_, row.held);
  const int64_t end = end_of(row);
  return {.row = row.index,
          .pad = row.pad,
          .head_end = row.pad + head.size(),
          .tail = end - tail.size(),
          .end = end};
}

}  // namespace kvern::state
