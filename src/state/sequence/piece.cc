#include "state/sequence/piece.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace kvern::state {
namespace {

// Calls f(stream, side) for every stream, in the order of a piece.
template <typename F>
void for_streams(const Geometry& geometry, const F& f) {
  for (size_t layer = 0; layer < geometry.layers.size(); ++layer) {
    for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
      for (int64_t head = 0; head < geometry.layers[layer].kv_heads; ++head) {
        f(StreamId{static_cast<LayerIndex>(layer), head, side}, geometry.layers[layer].side(side));
      }
    }
  }
}

// Calls f(record in storage, offset in the piece, bytes) for every run of every plane.
template <typename F>
void for_runs(const Geometry& geometry, const CollectRuns& collect, const PositionRange& range, const F& f) {
  size_t stream_begin = 0;
  RunList runs;
  for_streams(geometry, [&](const StreamId& stream, const SideGeometry& side) {
    for (int64_t p = range.begin; p < range.end;) {
      const int64_t end = std::min(range.end, (p / kTile + 1) * kTile);
      runs.clear();
      collect(stream, p, end, runs);
      for (const EncodedRun& run : EncodedRuns(runs)) {
        size_t plane_begin = stream_begin;
        for (size_t plane = 0; plane < static_cast<size_t>(side.planes()); ++plane) {
          const size_t record = side.record_bytes[plane];
          f(run.planes[plane], plane_begin + static_cast<size_t>(p - range.begin) * record,
            static_cast<size_t>(run.count) * record);
          plane_begin += static_cast<size_t>(range.size()) * record;
        }
        p += run.count;
      }
      KVERN_DCHECK(p == end);
    }
    stream_begin += static_cast<size_t>(range.size()) * side.bytes();
  });
}

}  // namespace

void read_piece(const Geometry& geometry, const CollectRuns& collect, const PositionRange& range,
                std::byte* out) {
  for_runs(geometry, collect, range, [&](const std::byte* record, size_t offset, size_t bytes) {
    std::memcpy(out + offset, record, bytes);
  });
}

void write_piece(const Geometry& geometry, const CollectRuns& collect, const PositionRange& range,
                 const std::byte* from) {
  for_runs(geometry, collect, range, [&](std::byte* record, size_t offset, size_t bytes) {
    std::memcpy(record, from + offset, bytes);
  });
}

void cut_piece(const Geometry& geometry, const PositionRange& whole, std::span<const std::byte> bytes,
               const PositionRange& range, std::byte* out) {
  KVERN_CHECK(whole.begin <= range.begin && range.end <= whole.end &&
              bytes.size() == static_cast<size_t>(whole.size()) * geometry.bytes_per_token());
  const std::byte* from = bytes.data();
  for_streams(geometry, [&](const StreamId&, const SideGeometry& side) {
    for (size_t plane = 0; plane < static_cast<size_t>(side.planes()); ++plane) {
      const size_t record = side.record_bytes[plane];
      const size_t count = static_cast<size_t>(range.size()) * record;
      std::memcpy(out, from + static_cast<size_t>(range.begin - whole.begin) * record, count);
      out += count;
      from += static_cast<size_t>(whole.size()) * record;
    }
  });
}

}  // namespace kvern::state
