// One row outside of any cache: what it holds, in an order that does not depend on a layout. The byte form is
// described in docs/formats/kv-row.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "state/layout/layout.h"

namespace kvern::state {

/// The records of one store (a group in one form): for each layer, side, head and plane those of all held
/// positions in order.
struct StoreImage {
  Held held;
  std::vector<std::byte> records;
};

/// A value: copies are independent of each other and of any cache.
struct RowImage {
  std::string identity;  ///< KvCache::identity() of the cache that it came from
  int64_t length = 0;
  std::vector<StoreImage> stores;  ///< by group, then form

  size_t bytes() const;
};

/// The byte form, with a checksum over everything.
std::vector<std::byte> to_bytes(const RowImage& image);
/// Reads what to_bytes wrote, or a stranger's bytes: kCorrupt says what is wrong. Takes no more memory than
/// the bytes have. Whether the row fits a cache is up to KvCache::adopt.
Result<RowImage> row_image_from_bytes(std::span<const std::byte> bytes);

}  // namespace kvern::state
