// Where a loop looks for prefixes beyond its own memory, and saves them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "store/prefix/prefix_space.h"
#include "store/tier/tier.h"

namespace kvern::engine {

struct LoopTier {
  /// Borrowed. It outlives the loop and is gone before the engine, whose pages it may be saving.
  store::Tier* tier = nullptr;
  bool saves = true;  ///< false: prefixes are only taken from it
  /// What it has may go at any time: where another tier saves, a flush says nothing about this one.
  bool is_cache = false;
  /// A restore that takes longer ends with what has come.
  std::chrono::milliseconds restore_timeout{30'000};
};

struct TierOptions {
  std::vector<LoopTier> tiers;  ///< the nearest first; none: nothing is looked up or saved
  /// Of this engine (prefix_identity()); the tenant is the namespace of each request.
  store::PrefixIdentity identity;
  /// Whether what is computed now still belongs to it: once it does not, nothing is offered or looked up.
  /// Called on the loop's thread for each lookup and each row that is saved. Null: always.
  std::function<bool()> identity_holds;
  /// A tier is asked when it must give so many tokens more than memory does, and shorter rows are not saved.
  int64_t least_tokens = 32;
  /// A kept row is saved when it has been kept for so long: a conversation that goes on makes a longer one.
  std::chrono::milliseconds settle{2'000};
  /// Most bytes of rows that are being saved. What they share with kept rows costs nothing; what is
  /// evicted meanwhile stays in memory until it is saved. 0: an eighth of the cache's budget, 2 GiB at most.
  size_t most_saving_bytes = 0;
  /// What a restore copies in a step beside rows that run.
  size_t step_bytes = size_t{8} << 20;
};

}  // namespace kvern::engine
