// A row that comes into a cache piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "state/ids.h"
#include "state/sequence/group.h"
#include "state/sequence/row_shape.h"

namespace kvern::state {

class KvCache;

/// Made by KvCache::draft; all its storage is there from the beginning. Belongs to the cache's thread and
/// must not outlive the cache; between the calls the cache may be used for anything else. Destroying it
/// without finish gives everything back.
class RowDraft {
 public:
  RowDraft(RowDraft&& other) noexcept;
  RowDraft& operator=(RowDraft&&) = delete;
  ~RowDraft();

  const RowShape& shape() const { return shape_; }
  /// Takes what the row holds of the piece of `range` (as RowPin::read gives it); pieces come in any order.
  /// kInvalidArgument when there is no such store, or the bytes are not as many.
  Status write(size_t store, const PositionRange& range, std::span<const std::byte> bytes);
  /// The first position that no piece has brought yet, in any store; the row's length when all is there.
  int64_t complete_until() const;
  /// Makes the first `length` tokens a row of the cache. kInvalidArgument when it cannot be cut there
  /// (KvCache::truncate) or pieces for it are missing; then there is no row, and the draft is over.
  Result<RowId> finish(int64_t length);

 private:
  friend class KvCache;
  RowDraft(KvCache& cache, RowShape shape, std::vector<GroupSlots> slots);

  KvCache* cache_;  // null when finished or moved from
  RowShape shape_;
  std::vector<GroupSlots> slots_;                    // by group
  std::vector<std::vector<PositionRange>> missing_;  // by store, ascending
};

}  // namespace kvern::state
