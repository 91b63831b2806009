// The inside of a page: P consecutive positions of one row in all layers of a store.
//
// Order: layer, head, then the planes of its keys and values, large records first; in each plane the records
// of the page's positions. So what attention reads of one head lies together: with 16 positions of 64 numbers
// in f16, 2 KiB of keys and behind it 2 KiB of values, which together use all sets of a first-level cache
// (with the layer's keys and values apart, pages whose size is a power of two would use half of them).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "state/layout/layout.h"

namespace kvern::state {

/// Immutable.
class PageFormat {
 public:
  PageFormat(const Geometry& geometry, int64_t positions);

  int64_t positions() const { return positions_; }
  /// A multiple of 64.
  size_t bytes() const { return bytes_; }
  /// Records [first, first + count) of a stream in the page at `page`; first + count <= positions().
  EncodedRun run(std::byte* page, const StreamId& stream, int64_t first, int64_t count) const {
    const Layer& layer = layers_[static_cast<size_t>(to_int(stream.layer))];
    const Side& side = layer.side[static_cast<size_t>(stream.side)];
    std::byte* head = page + layer.begin + static_cast<size_t>(stream.kv_head) * layer.head_bytes;
    EncodedRun run;
    run.count = count;
    for (size_t p = 0; p < side.planes; ++p) {
      run.planes[p] = head + side.plane[p].begin + static_cast<size_t>(first) * side.plane[p].record_bytes;
    }
    return run;
  }
  /// Fills records [first, first + count) of all streams with 0xff.
  void poison(std::byte* page, int64_t first, int64_t count) const;

 private:
  friend struct PageSlice;
  struct Plane {
    size_t begin = 0;  // from where the head begins
    size_t record_bytes = 0;
  };
  struct Side {
    size_t planes = 0;
    std::array<Plane, kMaxPlanes> plane{};
  };
  struct Layer {
    size_t begin = 0;
    size_t head_bytes = 0;
    int64_t kv_heads = 0;
    std::array<Side, 2> side;
  };

  Layer place(const LayerGeometry& geometry) const;
  template <typename F>
  void for_planes(const F& f) const;

  int64_t positions_;
  size_t bytes_ = 0;
  std::vector<Layer> layers_;
};

/// Records of all streams from `first` on.
struct PageSlice {
  const PageFormat& format;
  std::byte* page = nullptr;
  int64_t first = 0;

  /// The next `count` records become those of `from`, whose format is of the same geometry.
  void copy_from(const PageSlice& from, int64_t count) const;
};

}  // namespace kvern::state
