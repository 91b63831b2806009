// Beginnings of prompts that are kept as rows of the cache, so that a request which begins like an earlier
// one computes only the rest.
//
// A row gives a beginning of n tokens when it can be cut there: n is its length, or at least its
// minimum_reusable_position. Rows of models without windows and without precision along the row can be cut
// anywhere; one row for each conversation is then enough. Others can be cut near their end only, so forks of
// the growing row are kept on the way: at the end of each prompt, where prompts have been seen to part, and
// at regular places for those that will.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/prefix/prefix_observer.h"
#include "engine/prefix/prefix_tree.h"
#include "state/sequence/kv_cache.h"

namespace kvern::engine {

struct PrefixOptions {
  /// Storage that kept rows may hold at any time, what they share among each other counted once, also while a
  /// running row shares it. 0 keeps none.
  size_t max_bytes = 0;
  /// Where the cache cannot cut a row at any place (windows, precision along a row), a snapshot is kept at
  /// multiples of this many tokens while a prompt is computed. At least 1.
  int64_t snapshot_tokens = 256;
  /// Rows never get longer; decides whether they can be cut anywhere. 0: any length.
  int64_t context_tokens = 0;
};

struct PrefixStats {
  int64_t entries = 0;
  uint64_t queried_tokens = 0;  ///< of all prompts that asked
  uint64_t hit_tokens = 0;
  uint64_t evictions = 0;  ///< entries that gave way to others or to running rows
};

/// One thread, that of the KvCache, which outlives it. Reuse is exact: tokens are compared, never only
/// hashes, and a namespace sees its own entries alone. No operation touches a row that it was not given, and
/// a kept row never changes: what goes out is a fork.
class PrefixCache {
 public:
  PrefixCache(state::KvCache& kv, const PrefixOptions& options);
  /// Removes the rows that it keeps.
  ~PrefixCache();
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  /// Borrowed, outlives this object; null: nobody. Before anything is kept.
  void observe(PrefixObserver* observer) { observer_ = observer; }

  struct Hit {
    state::RowId row{};
    int64_t tokens = 0;  ///< what the row holds: the first so many tokens of the prompt
    /// How far some kept or running row has the same tokens; more than `tokens` where none of these rows can
    /// be cut to a longer beginning.
    int64_t common = 0;
  };
  /// A new row for a prompt: a fork of the entry or running row that gives the longest usable beginning, cut
  /// to at most prompt.size() - 1 tokens (the last one is always computed), else an empty row. The donor
  /// stays as it is. kExhausted when even the fork finds no storage; nothing has changed then. `prompt` has
  /// at least one token.
  Result<Hit> take(std::string_view name_space, std::span<const int32_t> prompt);
  /// How many tokens take() would give.
  int64_t usable(std::string_view name_space, std::span<const int32_t> prompt) const;

  /// Says what a running row holds, so that others may be forked from it between steps: all its tokens, each
  /// time it has grown. The row stays the caller's; it must be forgotten before it is cut or removed. Takes
  /// time for the tokens that are new. A row that was said to be in one namespace stays there.
  void running(std::string_view name_space, state::RowId row, std::span<const int32_t> tokens);
  /// Ignored for a row that is not known.
  void forget_running(state::RowId row);

  /// Where the next chunk of a prompt should end at the latest, so that snapshot() can keep the row there: in
  /// (from, prompt.size()]. It is prompt.size() when no snapshot is wanted.
  int64_t chunk_end(std::string_view name_space, std::span<const int32_t> prompt, int64_t from) const;
  /// To be called between steps whenever the row of a prompt has grown: keeps a fork of it when it has
  /// reached a place that chunk_end wants, and there is room. `prompt` is the whole prompt; the row holds a
  /// beginning of it.
  void snapshot(std::string_view name_space, state::RowId row, std::span<const int32_t> prompt);

  /// Takes over a row that holds exactly `tokens`; a running one is forgotten as such. What it makes useless
  /// (an equal entry, beginnings that it gives as well) is removed, then the least recently used entries
  /// until max_bytes holds with it. The row is removed at once when it is useless itself or larger than
  /// max_bytes. The entry, if it is one.
  std::optional<uint64_t> put(std::string_view name_space, std::vector<int32_t> tokens, state::RowId row);
  /// Whether put() would not find the row too large.
  bool fits(state::RowId row) const;
  /// Removes the entries that give these tokens.
  void forget(std::string_view name_space, std::span<const int32_t> tokens);
  /// Nothing when there is no such entry.
  std::optional<KeptRow> entry(uint64_t id) const;
  /// Removes the entry that is worth least, and rather one that the observer calls safe; false when there is
  /// none. For whoever needs the storage.
  bool evict_one();
  void clear();

  PrefixStats stats() const;
  /// Storage that the kept rows hold, shared pages once. Looks at all of them.
  size_t bytes() const;
  std::vector<state::RowId> rows() const;

 private:
  // Entries in the order in which they go: those that only stand at regular places and were never used, then
  // the others; in both the least recently used first. The sequence number makes the order total.
  using Rank = std::tuple<bool, uint64_t, uint64_t>;  // (worth keeping, time of last use, id)

  struct Space {
    std::string name;
    PrefixTree kept;     // ids of entries_
    PrefixTree running;  // ids are those of rows
  };
  struct Entry {
    Space* space = nullptr;
    state::RowId row{};
    Rank rank;
    size_t alone_bytes = 0;  // storage of the row by itself
  };
  struct Running {
    Space* space = nullptr;
    int64_t length = 0;
  };
  const Space* find(std::string_view name) const;
  Space& space(std::string_view name);
  void drop_if_empty(Space& space);
  int64_t parting(const Space& space, std::span<const int32_t> prompt) const;
  int64_t end_place(int64_t size) const;
  uint64_t announce(Space& space, std::span<const int32_t> tokens, state::RowId row);
  void admit(uint64_t id, Space& space, state::RowId row);
  void supersede(uint64_t id, Space& space);
  uint64_t least_worth() const;
  void make_room(state::RowId row);
  void use(uint64_t id);
  void use_first(uint64_t id);
  void rank(uint64_t id, bool proven);
  void remove(uint64_t id);
  void remove_row(state::RowId row);

  state::KvCache& kv_;
  PrefixOptions options_;
  PrefixObserver* observer_ = nullptr;
  int64_t longest_minimum_ = 0;  // to which a row of the longest length can be cut; 0: snapshots are useless
  std::map<std::string, std::unique_ptr<Space>, std::less<>> spaces_;
  std::unordered_map<uint64_t, Entry> entries_;
  std::unordered_map<uint64_t, Running> running_;
  std::set<Rank> order_;
  uint64_t next_entry_ = 1;
  uint64_t time_ = 0;
  size_t alone_bytes_ = 0;  // sum over the entries; at least bytes()
  PrefixStats stats_;
};

}  // namespace kvern::engine
