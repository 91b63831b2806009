#include "state/layout/page_format.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace kvern::state {
namespace {

// Heads begin at cache lines.
constexpr size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

PageFormat::PageFormat(const Geometry& geometry, int64_t positions) : positions_(positions) {
  for (const LayerGeometry& layer : geometry.layers) {
    layers_.push_back(place(layer));
    layers_.back().begin = bytes_;
    bytes_ += static_cast<size_t>(layer.kv_heads) * layers_.back().head_bytes;
  }
}

PageFormat::Layer PageFormat::place(const LayerGeometry& geometry) const {
  Layer layer{.kv_heads = geometry.kv_heads, .side = {}};
  std::vector<Plane*> planes;
  for (const KvSide s : {KvSide::kKey, KvSide::kValue}) {
    const SideGeometry& from = geometry.side(s);
    Side& side = layer.side[static_cast<size_t>(s)];
    side.planes = static_cast<size_t>(from.planes());
    for (size_t p = 0; p < side.planes; ++p) {
      side.plane[p].record_bytes = from.record_bytes[p];
      planes.push_back(&side.plane[p]);
    }
  }
  // Large ones first: most of them are multiples of a cache line, so the small ones do not shift them.
  std::ranges::stable_sort(planes, std::greater{}, &Plane::record_bytes);
  size_t bytes = 0;
  for (Plane* plane : planes) {
    plane->begin = bytes;
    bytes += static_cast<size_t>(positions_) * plane->record_bytes;
  }
  layer.head_bytes = aligned(bytes);
  return layer;
}

// Calls f(offset of record 0, bytes of a record) for every plane of every head.
template <typename F>
void PageFormat::for_planes(const F& f) const {
  for (const Layer& layer : layers_) {
    for (size_t head = 0; head < static_cast<size_t>(layer.kv_heads); ++head) {
      for (const Side& side : layer.side) {
        for (size_t p = 0; p < side.planes; ++p) {
          f(layer.begin + head * layer.head_bytes + side.plane[p].begin, side.plane[p].record_bytes);
        }
      }
    }
  }
}

void PageFormat::poison(std::byte* page, int64_t first, int64_t count) const {
  for_planes([&](size_t begin, size_t record) {
    std::memset(page + begin + static_cast<size_t>(first) * record, 0xff,
                static_cast<size_t>(count) * record);
  });
}

void PageSlice::copy_from(const PageSlice& from, int64_t count) const {
  // Both formats have the same planes in the same order, at other offsets.
  for (size_t l = 0; l < format.layers_.size(); ++l) {
    const PageFormat::Layer& to_layer = format.layers_[l];
    const PageFormat::Layer& from_layer = from.format.layers_[l];
    for (size_t head = 0; head < static_cast<size_t>(to_layer.kv_heads); ++head) {
      std::byte* to_head = page + to_layer.begin + head * to_layer.head_bytes;
      const std::byte* from_head = from.page + from_layer.begin + head * from_layer.head_bytes;
      for (size_t s = 0; s < to_layer.side.size(); ++s) {
        for (size_t p = 0; p < to_layer.side[s].planes; ++p) {
          const size_t record = to_layer.side[s].plane[p].record_bytes;
          std::memcpy(
              to_head + to_layer.side[s].plane[p].begin + static_cast<size_t>(first) * record,
              from_head + from_layer.side[s].plane[p].begin + static_cast<size_t>(from.first) * record,
              static_cast<size_t>(count) * record);
        }
      }
    }
  }
}

}  // namespace kvern::state
