#include "state/layout/slab.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace kvern::state {
namespace {

size_t chunks_for(int64_t length) { return static_cast<size_t>((length + kSlabChunk - 1) / kSlabChunk); }

}  // namespace

SlabLayout::SlabLayout(const Geometry& geometry, MemoryAccount& account, bool poison)
    : account_(account), poison_(poison) {
  for (const LayerGeometry& layer : geometry.layers) {
    auto& sides = layers_.emplace_back();
    kv_heads_.push_back(layer.kv_heads);
    for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
      const SideGeometry& from = layer.side(side);
      SideOffsets& to = sides[static_cast<size_t>(side)];
      to.planes = from.planes;
      for (size_t p = 0; p < static_cast<size_t>(from.planes); ++p) {
        to.plane[p] = {chunk_bytes_, from.record_bytes[p]};
        chunk_bytes_ += static_cast<size_t>(layer.kv_heads) * kSlabChunk * from.record_bytes[p];
      }
    }
  }
}

RowSlot SlabLayout::add_row() {
  if (!free_.empty()) {
    const RowSlot slot = free_.back();
    free_.pop_back();
    return slot;
  }
  rows_.emplace_back();
  return static_cast<RowSlot>(rows_.size() - 1);
}

void SlabLayout::remove_row(RowSlot slot) {
  chunks(slot).clear();
  free_.push_back(slot);
}

Status SlabLayout::reserve(RowSlot slot, int64_t length) {
  Chunks& row = chunks(slot);
  const size_t before = row.size();
  while (row.size() < chunks_for(length)) {
    auto chunk = account_.allocate(chunk_bytes_);
    if (!chunk) {
      row.resize(before);
      return std::unexpected(std::move(chunk).error());
    }
    if (poison_) std::memset(chunk->data(), 0xff, chunk->size());
    row.push_back(*std::move(chunk));
  }
  return Ok{};
}

void SlabLayout::shrink(RowSlot slot, int64_t length) {
  Chunks& row = chunks(slot);
  if (row.size() > chunks_for(length)) row.resize(chunks_for(length));
  if (poison_) poison_from(slot, length);
}

Status SlabLayout::copy(RowSlot from, RowSlot to, int64_t length) {
  KVERN_CHECK(from != to && chunks(to).empty());
  KVERN_TRY_STATUS(reserve(to, length));
  for (size_t i = 0; i < chunks_for(length); ++i) {
    std::memcpy(chunks(to)[i].data(), chunks(from)[i].data(), chunk_bytes_);
  }
  return Ok{};
}

EncodedRun SlabLayout::run(RowSlot slot, const StreamId& stream, int64_t begin, int64_t end) const {
  const Chunks& row = rows_[static_cast<size_t>(slot)];
  const auto chunk = static_cast<size_t>(begin / kSlabChunk);
  KVERN_DCHECK(begin < end && chunks_for(end) <= row.size());
  const int64_t first = begin % kSlabChunk;
  const SideOffsets& side =
      layers_[static_cast<size_t>(to_int(stream.layer))][static_cast<size_t>(stream.side)];
  EncodedRun run;
  run.count = std::min(end - begin, kSlabChunk - first);
  const auto record = static_cast<size_t>(stream.kv_head * kSlabChunk + first);
  for (size_t p = 0; p < static_cast<size_t>(side.planes); ++p) {
    run.planes[p] = row[chunk].data() + side.plane[p].begin + record * side.plane[p].record_bytes;
  }
  return run;
}

size_t SlabLayout::row_bytes(int64_t length) const { return chunks_for(length) * chunk_bytes_; }

// Overwrites the positions from `length` on in the last chunk.
void SlabLayout::poison_from(RowSlot slot, int64_t length) {
  if (length % kSlabChunk == 0) return;
  const int64_t end = (length / kSlabChunk + 1) * kSlabChunk;
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
      for (int64_t head = 0; head < kv_heads_[layer]; ++head) {
        const EncodedRun unused = run(slot, {static_cast<LayerIndex>(layer), head, side}, length, end);
        const SideOffsets& offsets = layers_[layer][static_cast<size_t>(side)];
        for (size_t p = 0; p < static_cast<size_t>(offsets.planes); ++p) {
          std::memset(unused.planes[p], 0xff,
                      static_cast<size_t>(unused.count) * offsets.plane[p].record_bytes);
        }
      }
    }
  }
}

}  // namespace kvern::state
