// Where a RestoreQueue reads entries from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "store/block/manifest.h"
#include "store/disk/disk_store.h"
#include "store/index/prefix_lookup.h"
#include "store/prefix/prefix_space.h"

namespace kvern::store {

/// Thread-safe.
class RestoreSource {
 public:
  virtual ~RestoreSource() = default;
  /// The manifest of a hit, compared with the prompt and its identity; it counts as used now. An error is a
  /// miss.
  virtual Result<Manifest> load(const PrefixSpace& space, std::span<const int32_t> prompt,
                                const IndexHit& hit) = 0;
  /// Pieces of it (indexes), several at a time, each checked by itself.
  virtual std::vector<Result<LoadedPiece>> read(const Manifest& manifest, std::span<const size_t> pieces) = 0;
  /// Forgets the entries that give these tokens.
  virtual void distrust(const PrefixSpace& space, std::span<const int32_t> tokens) = 0;
};

}  // namespace kvern::store
