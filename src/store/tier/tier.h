// A place where prefixes rest: a small interface that disk, remote servers and tests fill in. The engine
// offers rows, looks prompts up, and copies pieces into rows while it goes on.
//
// Nothing here may stop a request: an offer may be declined, a miss is no error, and damage is a miss that
// was reported.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "state/sequence/row_shape.h"
#include "store/disk/new_entry.h"
#include "store/prefix/prefix_space.h"
#include "store/tier/tier_stats.h"

namespace kvern::store {

/// A piece that has arrived.
struct RestoredPiece {
  size_t store = 0;
  state::PositionRange positions;
  std::span<const std::byte> bytes;  ///< valid while `owner` lives
  std::shared_ptr<const void> owner;
};

/// A prefix on its way from a tier. One thread, any that the caller likes; destroying it cancels what has not
/// arrived. Pieces come by position; those at or behind until() are never needed and do not come.
class TierRestore {
 public:
  virtual ~TierRestore() = default;

  /// Waits for what the row holds, until `deadline` at the latest; null when that has passed, or there is
  /// nothing to restore after all.
  virtual const state::RowShape* shape(std::chrono::steady_clock::time_point deadline) = 0;
  /// How many tokens the entry has, and to how few it can be cut; once shape() is there.
  virtual int64_t minimum_reusable() const = 0;
  /// The next piece, if it has arrived. What take() gives is not given again.
  virtual std::optional<RestoredPiece> take() = 0;
  /// Waits until take() has something, finished() holds, or the time has come.
  virtual void wait(std::chrono::steady_clock::time_point deadline) = 0;
  /// Whether nothing will come any more.
  virtual bool finished() const = 0;
  /// Tokens whose state comes whole, as far as is known: what lookup said at first, less when a piece turns
  /// out to be damaged. Below minimum_reusable() nothing of it is of use.
  virtual int64_t until() const = 0;
};

/// What a lookup found.
struct TierHit {
  int64_t tokens = 0;  ///< of the prompt
  /// Begins to fetch.
  std::unique_ptr<TierRestore> restore;
};

/// Thread-safe. No call but flush and erase waits for a disk or a network longer than an index lookup takes.
class Tier {
 public:
  virtual ~Tier() = default;

  /// Keeps the entry some time soon; false when it is declined.
  virtual bool offer(NewEntry entry) = 0;
  /// Whether others want this machine's processors just now: then saving should take little of them, unless
  /// somebody waits in flush(). Returns at once.
  virtual void set_busy(bool busy) { static_cast<void>(busy); }
  /// Whether lookup() of this prompt would not wait for anybody. A tier that has to ask somebody begins to
  /// when it is called first, and says so of the same prompt again until there is an answer or the time for
  /// one is over.
  virtual bool ready(const std::shared_ptr<const PrefixSpace>& space, std::span<const int32_t> prompt) {
    static_cast<void>(space);
    static_cast<void>(prompt);
    return true;
  }
  /// The longest usable beginning of a prompt that is longer than `more_than` tokens; nothing on a miss.
  virtual std::optional<TierHit> lookup(std::shared_ptr<const PrefixSpace> space,
                                        std::span<const int32_t> prompt, int64_t more_than) = 0;
  /// Whether the state of exactly these tokens is safe here.
  virtual bool covers(const PrefixSpace& space, std::span<const int32_t> tokens) = 0;
  /// Forgets the entry of exactly these tokens; kNotFound when there is none.
  virtual Status erase(const PrefixSpace& space, std::span<const int32_t> tokens) = 0;
  /// What is given for these tokens is no good, though it came whole: entries that begin with them are
  /// forgotten, some time soon.
  virtual void distrust(std::shared_ptr<const PrefixSpace> space, std::vector<int32_t> tokens) = 0;
  /// Returns when all that was offered before is durable, or at the deadline.
  virtual FlushReport flush(std::chrono::steady_clock::time_point deadline) = 0;
  virtual TierStats stats() = 0;
};

}  // namespace kvern::store
