// What a flush of all tiers can promise.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/request/tier_report.h"
#include "engine/tiers/tier_options.h"

namespace kvern::engine {

/// Made before kept rows are offered, so that it notices whatever is dropped or fails from then on. Any
/// thread.
class TierFlush {
 public:
  /// `lost`: rows that went unsaved so far. The tiers outlive it.
  TierFlush(std::span<const LoopTier> tiers, uint64_t lost);

  struct Offered {
    uint64_t lost = 0;  ///< rows that went unsaved, until now
    uint64_t left = 0;  ///< rows that have not been offered
  };
  /// Waits until tiers have saved what they were offered, or for the deadline.
  FlushReport finish(std::chrono::steady_clock::time_point deadline, const Offered& offered);

 private:
  FlushReport counts() const;

  std::vector<store::Tier*> tiers_;  // that save
  uint64_t lost_;
  FlushReport before_;
};

}  // namespace kvern::engine
