// Padded: all rows in dense tensors [rows, kv_heads, columns, record], one for each plane of each side and
// layer, rows right-aligned behind left padding; for backends whose attention wants one tensor and a mask.
//
// A row occupies columns [pad, end): the positions of its head, then those of its tail. Ends may differ: each
// row is extended at its own end, and cut back there, without moving anything. What is dropped stays as a gap
// behind the head. When a row with contents joins or leaves, and when columns are short, everything is copied
// into new tensors: ends become equal, gaps vanish, and the longest row has no padding. Records keep their
// bytes always.
#pragma once

#include <span>
#include <vector>

#include "state/layout/layout.h"
#include "state/layout/ranges.h"
#include "state/layout/row_table.h"

namespace kvern::state {

/// The tensors grow by so many columns.
inline constexpr int64_t kPaddedStep = 256;

/// One plane of one side of one layer: record (row, head, column) is at
/// data + row * row_stride + head * head_stride + column * record_bytes.
struct PaddedPlane {
  std::byte* data = nullptr;
  size_t record_bytes = 0;
  size_t head_stride = 0;  ///< bytes
  size_t row_stride = 0;
};

/// Where a row lies in the tensors.
struct PaddedRow {
  int64_t row = 0;       ///< index in the tensors; rows without contents have none, and pad = end
  int64_t pad = 0;       ///< columns [0, pad) are padding (the reference's a_b)
  int64_t head_end = 0;  ///< columns [pad, head_end) are the head: positions from the origin on
  int64_t tail = 0;      ///< columns [tail, end) are the tail, [head_end, tail) a gap of dropped positions
  int64_t end = 0;       ///< columns from here on hold nothing
};

/// Borrowed until the layout changes.
struct PaddedView {
  int64_t rows = 0;
  int64_t kv_heads = 0;
  int64_t columns = 0;
  int planes = 0;
  std::array<PaddedPlane, kMaxPlanes> plane{};
};

class PaddedLayout final : public Layout {
 public:
  /// Padding is filled with zeros, or with 0xff when `poison`.
  PaddedLayout(StoreSpec spec, MemoryAccount& account, bool poison);

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
  /// `live` is what the rows would take alone; padding and unused columns are slack.
  LayoutUsage usage() const override;

  PaddedView view(LayerIndex layer, KvSide side) const;
  PaddedRow place(RowSlot slot) const;

 private:
  static constexpr int64_t kNone = -1;

  struct Row {
    Held held;
    int64_t index = kNone;  // in the tensors
    int64_t pad = 0;
    int64_t tail_first = 0;  // the position in the column behind the head
  };
  struct Plane {
    int64_t kv_heads = 0;
    size_t record_bytes = 0;
  };
  struct Tensors {
    int64_t rows = 0;
    int64_t columns = 0;
    size_t bytes = 0;
    std::vector<MemoryAccount::Block> planes;  // as planes_
  };
  // A row that takes part in a new arrangement.
  struct Member {
    RowSlot slot{};
    Held held;                  // what it will hold
    const Row* from = nullptr;  // whose contents it gets; null = nobody's
    int64_t new_positions = 0;  // of `held`, to be written at its end
  };

  int64_t head_size() const { return spec_.head_end - spec_.origin; }
  int64_t column(const Row& row, int64_t position) const;
  int64_t end_of(const Row& row) const;
  int64_t first_of_tail(const Held& held) const { return tail_range(spec_, held).begin; }
  int64_t columns_for(int64_t width) const;
  std::byte* record(const Tensors& tensors, size_t plane, int64_t row, int64_t head, int64_t column) const;

  std::vector<Member> members() const;
  Status join(RowSlot slot, const Held& held, const Row* from);
  void leave(Row& row);
  Status arrange(const std::vector<Member>& members);
  Result<Tensors> make_tensors(int64_t rows, int64_t columns);
  void copy_range(const Tensors& to, const Row& to_row, const Row& from, const PositionRange& range) const;
  void settle();
  void poison(const Row& row, int64_t first_column, int64_t last_column) const;

  StoreSpec spec_;
  MemoryAccount& account_;
  bool poison_;
  std::vector<Plane> planes_;        // layer, side, plane
  std::vector<size_t> first_plane_;  // of (layer, side)
  Tensors tensors_;
  std::vector<RowSlot> in_tensors_;  // rows with contents, in the order in which they joined
  RowTable<Row> rows_;
};

}  // namespace kvern::state
