// What an index says of its entries: queries that change nothing, for any connection to it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "store/block/name.h"
#include "store/index/sqlite.h"

namespace kvern::store {

/// What the index says of an entry.
struct ListedEntry {
  ContentName manifest;
  ModelFingerprint model;
  Sha256Digest root{};  ///< PrefixSpace::root
  int64_t length = 0;
  int64_t minimum = 0;
  int64_t usable = 0;
  uint64_t bytes = 0;  ///< of manifest and blocks; blocks may be those of other entries, too
  int64_t used = 0;
  int64_t expires = 0;
  bool pinned = false;
  bool extras = false;  ///< attachments or a checkpoint
};

struct IndexTotals {
  int64_t entries = 0;
  int64_t blocks = 0;
  uint64_t bytes = 0;         ///< manifests, and every block once
  uint64_t pinned_bytes = 0;  ///< likewise, of pinned entries
};

/// The blocks of an entry.
struct BlockUse {
  int64_t blocks = 0;
  uint64_t bytes = 0;
  int64_t shared_blocks = 0;  ///< that other entries use, too
  uint64_t shared_bytes = 0;
  int64_t lost_blocks = 0;  ///< found damaged or missing
};

/// Most recently used first.
Result<std::vector<ListedEntry>> list_entries(SqlDatabase& database);
Result<IndexTotals> index_totals(SqlDatabase& database);
/// IndexTotals::pinned_bytes alone.
Result<uint64_t> pinned_bytes(SqlDatabase& database);
/// All zero for an entry that is not there.
Result<BlockUse> block_use(SqlDatabase& database, const ContentName& manifest);

}  // namespace kvern::store
