// Where the rows of a batch have their keys and values: in the cache, outside of it, or kept as prefixes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "engine/load/engine.h"
#include "engine/loop/loop_options.h"
#include "engine/loop/row.h"
#include "engine/schedule/admission.h"
#include "engine/tiers/tiers.h"

namespace kvern::engine {

/// What becomes of a row's state when the row is over.
enum class AfterRow : uint8_t { kKeep, kRemove };

/// How far a row grows.
enum class Growth : uint8_t {
  kNone,
  kSoon,  ///< to the end of its prompt, and some tokens more
  kEnd,
};

/// By KvCache::peak_bytes, one token a step: longer steps are made shorter where memory is. `kv` outlives it.
Projection projection_of(const state::KvCache& kv);

/// The loop's thread. Of a row it changes what says where its state is, and nothing else.
class RowStorage {
 public:
  /// The engine and the clock outlive it.
  RowStorage(Engine& engine, const Clock& clock, const LoopOptions& options);

  /// A row for the prompt, with what kept prefixes and the running rows give of it.
  Status take(Row& row, std::span<Row* const> running);
  /// How many tokens take() would give; 0 for a row that shares nothing.
  int64_t usable_tokens(const Row& row, std::span<Row* const> running);
  /// Whether the row may take and give what others have computed.
  bool shares(const Row& row) const;
  /// Makes a restored row a kept prefix; false when it is too large for that.
  bool keep_restored(const PrefixRestore& restore, const store::RowRestore::Row& made);
  /// Gives back a row of no request.
  void remove(state::RowId row);
  /// To be called after each step in which the row of a prompt has grown.
  void has_grown(const Row& row);
  /// Gives its state away, wherever it is.
  void release(Row& row, AfterRow after);

  /// Moves the state of a row to the other, which has none.
  void hand_over(Row& from, Row& to);
  /// Gives all of `to` the same state as `from`: in the cache, or outside when there is no room, and
  /// `give_way` (moves out a row that is to leave first) can make none. On an error some of them may have
  /// none.
  Status fork(Row& from, std::span<Row* const> to, const std::function<bool()>& give_way);
  /// Out of the cache, into memory beside it. kExhausted: not even there.
  Status move_out(Row& row);
  /// Back into the cache; kExhausted changes nothing.
  Status bring_in(Row& row);
  /// Out and in again, so that storage is given back that other rows have left in pieces.
  Status compact(Row& row);
  /// The row holds nothing any more.
  void start_over(Row& row);
  /// Nobody is given its first `doubted` tokens any more: from memory, from tiers.
  void forget(const Row& row, int64_t doubted);
  void distrust(const Row& row, int64_t doubted);

  /// Removes a kept prefix; false when there is none.
  bool evict_prefix() { return prefixes_.evict_one(); }

  /// Whether there is room for the row to take `bytes` more, beside those that run.
  Room room_for_row(const Row& row, size_t bytes, std::span<Row* const> running) const;
  /// What a row is about to take: up to the end of its prompt, or of its next tokens.
  size_t growth_bytes(const Row& row) const;
  /// What rows of its request that are as this one would take outside; `and_soon`: with growth_bytes().
  size_t standing_bytes(const Row& row, Growth growth) const;
  /// What one row takes outside now, at most.
  size_t standing_bytes(const Row& row) const { return kv_.projected_bytes(row.held); }
  /// Standing::final_bytes.
  size_t final_bytes(const Request& request) const;
  /// Whether all of them fit, as they are now and with what they share, up to their ends: none has to move.
  bool all_fit(std::span<Row* const> running, std::span<Row* const> others) const;
  /// What a row takes that comes back.
  size_t image_bytes(const Row& row) const;

  /// How a prompt's next chunk has to end: at most so many tokens from here.
  int64_t chunk_limit(const Row& row) const;

  const PrefixCache& prefixes() const { return prefixes_; }
  /// Null when there are none.
  Tiers* tiers() { return tiers_.get(); }
  const Tiers* tiers() const { return tiers_.get(); }
  /// Images outside, what rows share counted once.
  size_t outside_bytes() const { return outside_bytes_; }

 private:
  void announce(const Row& row);
  void announce_all(const Row& row, std::span<Row* const> running);
  size_t kept_bytes(std::span<const state::RowId> used) const;
  int64_t end_of(const Row& row, Growth growth) const;
  size_t growth_bytes(const Row& row, Growth growth) const;
  size_t choice_bytes(const Request& request, int64_t end) const;
  size_t copied_bytes(const Row& row) const;
  Status fork_one(Row& from, Row& to, const std::function<bool()>& give_way);
  void set_image(Row& row, std::shared_ptr<const state::RowImage> image);

  Engine& engine_;
  state::KvCache& kv_;
  std::unique_ptr<Tiers> tiers_;  // hears of what becomes of prefixes_
  PrefixCache prefixes_;
  bool keep_latest_only_;
  size_t outside_bytes_ = 0;
};

}  // namespace kvern::engine
