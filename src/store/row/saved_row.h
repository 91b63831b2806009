// Rows of a cache as entries, and entries as rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "state/sequence/kv_cache.h"
#include "store/disk/new_entry.h"
#include "store/prefix/prefix_space.h"
#include "store/tier/tier.h"

namespace kvern::store {

/// Pins the row as it is now; `tokens` are what it holds. On the cache's thread, between steps; the entry may
/// then go to any other, and must be gone before the cache. kNotFound, kInvalidArgument when the row has
/// another number of tokens.
Result<NewEntry> entry_of_row(state::KvCache& cache, state::RowId row,
                              std::shared_ptr<const PrefixSpace> space, std::vector<int32_t> tokens);

/// Makes a row of what a tier brings, a little at a time, on the cache's thread between steps.
class RowRestore {
 public:
  /// `cache` outlives it.
  RowRestore(state::KvCache& cache, TierHit hit);
  ~RowRestore();

  /// Copies what has arrived, at most about `most_bytes` of it. False when there is nothing more to wait for:
  /// then finish(). kExhausted when the cache has no room for the row: it may be called again when there is.
  /// kInvalidArgument, kCorrupt when the entry does not fit the cache; nothing will come of it then.
  Result<bool> step(size_t most_bytes);
  /// Waits until step() has something to do.
  void wait(std::chrono::steady_clock::time_point deadline) { hit_.restore->wait(deadline); }

  struct Row {
    state::RowId row{};
    int64_t tokens = 0;
  };
  /// The row, with as many tokens as came whole; nothing when too few did. It may be called at any time: what
  /// has not arrived is given up.
  Result<std::optional<Row>> finish();

  /// Whether it holds storage of the cache.
  bool holds_storage() const { return draft_.has_value(); }
  uint64_t copied_bytes() const { return copied_bytes_; }

 private:
  Status begin();

  state::KvCache& cache_;
  TierHit hit_;
  uint64_t copied_bytes_ = 0;
  std::optional<state::RowDraft> draft_;
};

}  // namespace kvern::store
