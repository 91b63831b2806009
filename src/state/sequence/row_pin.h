// A row as it was at one moment, for a thread that saves it while the cache goes on.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "state/sequence/row_shape.h"

namespace kvern::state {

/// Made by KvCache::pin on the cache's thread between steps. May be read, moved and destroyed on any one
/// thread at a time, also while the cache is changed, but must be gone before the cache is. Of a paged cache
/// it holds the pages themselves, which are not written again while it lives (whoever grows the row copies
/// its last page); of other layouts a copy. What it holds is given back when the cache is next changed after
/// its destruction.
class RowPin {
 public:
  RowPin(RowPin&&) noexcept = default;
  RowPin& operator=(RowPin&& other) noexcept {
    release();
    core_ = std::move(other.core_);
    return *this;
  }
  ~RowPin() { release(); }

  const RowShape& shape() const;
  /// As KvCache::stores().
  const std::vector<RowStore>& stores() const;
  /// Writes the piece (state/sequence/piece.h) of `range`, which lies in one of the store's held_ranges();
  /// `out` has range.size() * bytes_per_position bytes.
  void read(size_t store, const PositionRange& range, std::span<std::byte> out) const;

 private:
  friend class KvCache;
  struct Store {
    const Geometry* geometry = nullptr;
    std::vector<PositionRange> ranges;
    std::unique_ptr<PinnedRow> pages;            // null where the layout has none to give
    std::vector<std::vector<std::byte>> copies;  // then: by range
  };
  struct Core {
    RowShape shape;
    std::vector<RowStore> infos;
    std::vector<Store> stores;  // emptied by the cache's thread, which owns the pages
    std::atomic<bool> released = false;
  };

  explicit RowPin(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  void release() {
    if (core_ != nullptr) core_->released.store(true, std::memory_order_release);
    core_.reset();
  }

  std::shared_ptr<Core> core_;
};

}  // namespace kvern::state
