// What a service tells of the tiers in which it keeps prefixes.
#pragma once

#include <cstdint>

#include "store/tier/tier_stats.h"

namespace kvern::engine {

/// Prefixes that came from a tier. Counters.
struct RestoreCounts {
  uint64_t restores = 0;
  uint64_t tokens = 0;
  uint64_t bytes = 0;
  uint64_t cut_short = 0;  ///< that gave less than they promised: damaged, too slow, or no room
};

struct TierReport {
  store::TierStats stats;
  RestoreCounts restores;
};

using store::FlushReport;

}  // namespace kvern::engine
