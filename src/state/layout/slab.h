// Slab: every row has storage of its own that grows with it.
#pragma once

#include <vector>

#include "state/layout/layout.h"

namespace kvern::state {

/// Positions of one chunk of a slab. A chunk holds all layers, and within a layer for each head one stream of
/// keys and one of values; growing adds a chunk and copies nothing.
inline constexpr int64_t kSlabChunk = 256;

class SlabLayout final : public Layout {
 public:
  SlabLayout(const Geometry& geometry, MemoryAccount& account, bool poison);

  RowSlot add_row() override;
  void remove_row(RowSlot slot) override;
  Status reserve(RowSlot slot, int64_t length) override;
  void shrink(RowSlot slot, int64_t length) override;
  Status copy(RowSlot from, RowSlot to, int64_t length) override;
  EncodedRun run(RowSlot slot, const StreamId& stream, int64_t begin, int64_t end) const override;
  size_t row_bytes(int64_t length) const override;

 private:
  using Chunks = std::vector<MemoryAccount::Block>;
  // Where a stream of head 0 lies inside a chunk; head h is h * kSlabChunk records further.
  struct PlaneOffset {
    size_t begin = 0;
    size_t record_bytes = 0;
  };
  struct SideOffsets {
    int planes = 0;
    std::array<PlaneOffset, kMaxPlanes> plane{};
  };

  Chunks& chunks(RowSlot slot) { return rows_[static_cast<size_t>(slot)]; }
  void poison_from(RowSlot slot, int64_t length);

  MemoryAccount& account_;
  bool poison_;
  size_t chunk_bytes_ = 0;
  std::vector<std::array<SideOffsets, 2>> layers_;  // [layer][side]
  std::vector<int64_t> kv_heads_;                   // [layer]
  std::vector<Chunks> rows_;
  std::vector<RowSlot> free_;
};

}  // namespace kvern::state
