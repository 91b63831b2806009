// Saves kept rows in the background: each once it has settled, and before it is evicted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/prefix/prefix_cache.h"
#include "engine/prefix/prefix_observer.h"
#include "engine/tiers/flush.h"
#include "engine/tiers/prefix_spaces.h"
#include "engine/tiers/tier_options.h"
#include "state/sequence/kv_cache.h"

namespace kvern::engine {

/// The loop's thread. It offers rows and goes on: tiers save on threads of their own. A row that is being
/// saved is pinned, so its pages stay in memory until that has ended, whatever the PrefixCache does
/// meanwhile; TierOptions::most_saving_bytes bounds that. When it is reached, rows wait; what is evicted then
/// is lost to the tiers, and counted.
class WriteBehind final : public PrefixObserver {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// All are borrowed.
  struct Parts {
    state::KvCache& kv;
    PrefixSpaces& spaces;
    const PrefixCache& prefixes;
    const Clock& clock;
  };
  WriteBehind(const Parts& parts, const TierOptions& options);

  void on_kept(uint64_t id) override;
  void on_evicted(uint64_t id) override;
  void on_too_large(const KeptRow& row) override;
  void on_removed(uint64_t id) override;
  bool is_safe(uint64_t id) const override;
  /// It came from a tier.
  void set_safe(uint64_t id);

  /// Notices what has been saved, and offers one row that has settled, if there is one and room for it.
  void step(TimePoint now);
  /// When step() has something to do, by what is known now.
  std::optional<TimePoint> next_step() const;

  /// Tells the tiers whether rows run.
  void set_busy(bool busy);

  /// All that is kept now, and not safe, has settled.
  void hasten();
  /// These, as far as they are kept and long enough to be saved.
  std::vector<KeptTokens> hastened_tokens() const;
  /// How many of these still wait to be offered.
  int64_t hastened() const;
  /// Whether storage of the cache may come free by what tiers do. Notices what they have done.
  bool holds_storage();
  /// Grows when they let go of some.
  uint64_t released() const { return released_; }
  size_t saving_bytes() const { return saving_bytes_; }
  /// Rows that went without having been saved.
  uint64_t lost() const { return lost_; }

 private:
  enum class Offer : uint8_t { kOffered, kSafe, kRefused, kNoRoom };
  struct Entry {
    std::optional<TimePoint> due;  // waits to be offered
    bool safe = false;
    int offers = 0;  // that are with tiers
  };
  struct Pin {
    uint64_t id = 0;  // 0: of a row that was never kept
    size_t bytes = 0;
    std::weak_ptr<const store::PieceSource> pieces;
  };

  void notice();
  void ended(uint64_t id);
  void schedule(uint64_t id, Entry& entry, std::optional<TimePoint> due);
  Offer offer(const KeptRow& row, uint64_t id);
  bool offer_to(store::Tier& tier, const KeptRow& row, uint64_t id);
  bool any_covers(const KeptRow& row);
  bool has_room(state::RowId row);

  const Parts parts_;
  const TierOptions& options_;
  size_t most_bytes_;
  std::unordered_map<uint64_t, Entry> entries_;
  std::set<std::pair<TimePoint, uint64_t>> due_;
  std::vector<Pin> pins_;
  size_t saving_bytes_ = 0;
  bool busy_ = false;
  bool full_ = false;  // the next row waits for one that is being saved
  uint64_t released_ = 0;
  uint64_t lost_ = 0;
  uint64_t newest_ = 0;    // entry
  uint64_t hastened_ = 0;  // entries up to this one
};

}  // namespace kvern::engine
