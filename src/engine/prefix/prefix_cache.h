// Beginnings of prompts that are kept as rows of the cache, so that a request which begins like an earlier
// one computes only the rest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "state/sequence/kv_cache.h"

namespace kvern::engine {

struct PrefixOptions {
  /// Storage that kept prefixes alone may hold (what they share with running rows is not counted); 0 keeps
  /// none.
  size_t max_bytes = 0;
  /// Where the cache cannot cut a row at any place (windows, precision along a row), a snapshot is kept at
  /// multiples of this many tokens while a prompt is computed.
  int64_t snapshot_tokens = 256;
};

struct PrefixStats {
  int64_t entries = 0;
  size_t bytes = 0;  ///< what removing all of them would free
  uint64_t queried_tokens = 0;
  uint64_t hit_tokens = 0;
  uint64_t evictions = 0;
};

/// One thread, that of the KvCache, which outlives it. Reuse is exact: tokens are compared, never only
/// hashes, and a namespace sees its own entries alone.
class PrefixCache {
 public:
  PrefixCache(state::KvCache& kv, const PrefixOptions& options);
  ~PrefixCache();
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  struct Hit {
    state::RowId row{};
    int64_t tokens = 0;  ///< what the row holds: the first so many tokens of the prompt
  };
  /// A new row for a prompt: a fork of the entry or running row that gives the longest usable beginning, cut
  /// to at most prompt.size() - 1 tokens (the last one is always computed), else an empty row. The donor
  /// stays as it is. kExhausted when even the fork finds no storage; nothing has changed then.
  Result<Hit> take(std::string_view name_space, std::span<const int32_t> prompt);

  /// A running row that others may be forked from between steps: call when it has grown. Not owned; the
  /// tokens are borrowed until the next call for that row or forget_running.
  void running(std::string_view name_space, state::RowId row, std::span<const int32_t> tokens);
  void forget_running(state::RowId row);

  /// Where the next chunk of a prompt should end at the latest so that a snapshot can be taken: in
  /// (from, prompt.size()]. prompt.size() when no snapshot is wanted.
  int64_t chunk_end(std::string_view name_space, std::span<const int32_t> prompt, int64_t from) const;
  /// To be called when a prompt's row has grown to such an end: keeps a fork of it if that is worth it.
  void snapshot(std::string_view name_space, state::RowId row, std::span<const int32_t> tokens);

  /// Takes over a row that holds exactly `tokens`. What it makes useless (equal entries, beginnings that it
  /// gives as well) is removed, then the least recently used until max_bytes holds. May remove this very row.
  void put(std::string_view name_space, std::vector<int32_t> tokens, state::RowId row);
  /// Removes the least recently used entry; false when there is none. For whoever needs the storage.
  bool evict_one();
  void clear();

  PrefixStats stats() const;
};

}  // namespace kvern::engine
