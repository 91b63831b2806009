// Who wants to know what becomes of kept prefixes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "state/ids.h"

namespace kvern::engine {

/// A row that is kept, or was about to be.
struct KeptRow {
  std::string_view name_space;
  std::vector<int32_t> tokens;  ///< what the row holds
  state::RowId row{};
};

/// Called on the thread of the PrefixCache, in the middle of its work: an observer may read and pin rows, and
/// ask PrefixCache::entry(), nothing else. Ids are never used again.
class PrefixObserver {
 public:
  virtual ~PrefixObserver() = default;
  virtual void on_kept(uint64_t id) = 0;
  /// It is about to go, to make room; on_removed() follows.
  virtual void on_evicted(uint64_t id) = 0;
  /// A row that would be kept if it were not too large, before it goes.
  virtual void on_too_large(const KeptRow& row) = 0;
  virtual void on_removed(uint64_t id) = 0;
  /// Whether its state is somewhere else too. Such entries go first.
  virtual bool is_safe(uint64_t id) const = 0;
};

}  // namespace kvern::engine
