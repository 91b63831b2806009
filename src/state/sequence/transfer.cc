#include "state/sequence/transfer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "state/planted_fault.h"

namespace kvern::state {
namespace {

struct Range {
  int64_t begin;
  int64_t end;
};

// The held positions: head and tail.
std::array<Range, 2> ranges(const StoreSpec& spec, const Held& held) {
  const Range head{spec.origin, std::max(spec.origin, std::min(spec.head_end, held.length))};
  const int64_t tail = std::max(head.end, held.tail_begin);
  return {head, {tail, std::max(tail, held.length)}};
}

// Calls f(run, geometry of the side) for all held runs of all streams, plane by plane: f(bytes, size).
template <typename F>
void for_planes(const Layout& layout, const StoreSpec& spec, RowSlot slot, const F& f) {
  const auto held = ranges(spec, layout.held(slot));
  const auto stream = [&](const StreamId& id, const SideGeometry& side, size_t plane) {
    for (const Range& range : held) {
      for (int64_t p = range.begin; p < range.end;) {
        const int64_t end = std::min(range.end, (p / kTile + 1) * kTile);
        RunList runs;
        layout.collect(slot, id, p, end, runs);
        for (const EncodedRun& run : EncodedRuns(runs)) {
          f(run.planes[plane], static_cast<size_t>(run.count) * side.record_bytes[plane]);
        }
        p = end;
      }
    }
  };
  for (size_t layer = 0; layer < spec.geometry.layers.size(); ++layer) {
    const LayerGeometry& geometry = spec.geometry.layers[layer];
    for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
      const int64_t heads = geometry.kv_heads - (planted(Fault::kHeadNotExtracted) ? 1 : 0);
      for (int64_t head = 0; head < heads; ++head) {
        const int planes = planted(Fault::kScalesNotSaved) ? 1 : geometry.side(side).planes();
        for (int plane = 0; plane < planes; ++plane) {
          stream({static_cast<LayerIndex>(layer), head, side}, geometry.side(side),
                 static_cast<size_t>(plane));
        }
      }
    }
  }
}

}  // namespace

int64_t held_positions(const StoreSpec& spec, const Held& held) {
  int64_t sum = 0;
  for (const Range& range : ranges(spec, held)) sum += range.end - range.begin;
  return sum;
}

size_t record_bytes(const StoreSpec& spec, int64_t positions) {
  return static_cast<size_t>(positions) * spec.geometry.bytes_per_token();
}

std::vector<std::byte> read_records(const Layout& layout, const StoreSpec& spec, RowSlot slot) {
  std::vector<std::byte> records(record_bytes(spec, held_positions(spec, layout.held(slot))));
  std::byte* out = records.data();
  for_planes(layout, spec, slot, [&](const std::byte* from, size_t size) {
    std::memcpy(out, from, size);
    out += size;
  });
  return records;
}

void write_records(const Layout& layout, const StoreSpec& spec, RowSlot slot,
                   const std::vector<std::byte>& records) {
  const std::byte* from = records.data();
  const size_t shift = planted(Fault::kRecordsShifted) ? spec.geometry.layers[0].key.record_bytes[0] : 0;
  for_planes(layout, spec, slot, [&](std::byte* to, size_t size) {
    std::memcpy(to, from + shift, size - std::min(size, shift));
    from += size;
  });
}

}  // namespace kvern::state
