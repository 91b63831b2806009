// What a row holds, apart from its bytes: what must be known to save it in pieces and to make room for it
// elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "state/layout/layout.h"
#include "state/layout/ranges.h"
#include "state/sequence/kv_spec.h"

namespace kvern::state {

/// A group of layers in one form. Immutable; the same for all caches of one identity().
struct RowStore {
  bool encoded = true;  ///< false: in full precision, beside or before the encoded form
  int64_t origin = 0;   ///< StoreSpec::origin
  int64_t head_end = 0;
  size_t bytes_per_position = 0;
  std::string text;  ///< layers, heads, sizes and types, one line for each run of equal layers
};

/// A value. What a store holds is written in one way only: where nothing was dropped, its tail begins at the
/// store's origin.
struct RowShape {
  int64_t length = 0;
  std::vector<Held> stores;  ///< by group, then form, as KvCache::stores()

  bool operator==(const RowShape&) const = default;
};

/// What a store holds, written in that way.
Held canonical(const StoreSpec& spec, Held held);
/// The positions that a row holds in a store: head and tail, or one range where nothing lies between them.
std::vector<PositionRange> held_ranges(const RowStore& store, const Held& held);
/// The same, cut at the multiples of `page` > 0, ascending.
std::vector<PositionRange> held_pieces(const RowStore& store, const Held& held, int64_t page);

}  // namespace kvern::state
