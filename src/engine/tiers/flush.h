// What a flush of all tiers can promise.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/request/tier_report.h"
#include "engine/tiers/tier_options.h"

namespace kvern::engine {

/// The tokens of a kept row, which outlive it.
struct KeptTokens {
  std::shared_ptr<const store::PrefixSpace> space;
  std::vector<int32_t> tokens;
};

/// Made before kept rows are offered, so that it notices whatever is dropped or fails from then on. Any
/// thread.
class TierFlush {
 public:
  /// `lost`: rows that went unsaved so far. The tiers outlive it.
  TierFlush(std::span<const LoopTier> tiers, uint64_t lost);

  struct Offered {
    uint64_t lost = 0;             ///< rows that went unsaved, until now
    uint64_t left = 0;             ///< rows that have not been offered
    std::vector<KeptTokens> kept;  ///< what is to be safe in the end
  };
  /// Waits until tiers have saved what they were offered, or for the deadline. Then looks whether what is
  /// kept is still there: a directory that is too small for all of it has let go of some.
  FlushReport finish(std::chrono::steady_clock::time_point deadline, const Offered& offered);

 private:
  FlushReport counts() const;
  uint64_t missing(const std::vector<KeptTokens>& kept) const;

  bool keeps_ = false;               // else the tiers are caches, which may forget
  std::vector<store::Tier*> tiers_;  // that save
  uint64_t lost_;
  FlushReport before_;
};

}  // namespace kvern::engine
