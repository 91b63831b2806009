// What a loop does with the tiers below its memory.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "engine/prefix/prefix_cache.h"
#include "engine/request/tier_report.h"
#include "engine/tiers/prefix_restore.h"
#include "engine/tiers/prefix_spaces.h"
#include "engine/tiers/tier_options.h"
#include "engine/tiers/write_behind.h"

namespace kvern::engine {

/// The loop's thread.
class Tiers {
 public:
  /// All outlive it.
  struct Parts {
    state::KvCache& kv;
    const PrefixCache& prefixes;
    const Clock& clock;
  };
  Tiers(const Parts& parts, TierOptions options);
  Tiers(const Tiers&) = delete;
  Tiers& operator=(const Tiers&) = delete;

  const TierOptions& options() const { return options_; }
  WriteBehind& writes() { return writes_; }
  const WriteBehind& writes() const { return writes_; }

  /// Whether find() would not wait for anybody; begins to ask who is not (Tier::ready).
  bool ready(std::string_view name_space, std::span<const int32_t> prompt, int64_t known);
  /// Begins to fetch the longest beginning of a prompt that some tier has, the nearest one where that gives
  /// as much; null when it would not give least_tokens more than `known` tokens.
  std::unique_ptr<PrefixRestore> find(std::string_view name_space, std::span<const int32_t> prompt,
                                      int64_t known);
  /// Tells all tiers that what they have for these tokens is no good.
  void distrust(std::string_view name_space, std::span<const int32_t> tokens);
  /// Counts a restore that is over and has given so many tokens.
  void count(const PrefixRestore& restore, int64_t tokens);
  /// By tier.
  const std::vector<RestoreCounts>& restores() const { return restores_; }

 private:
  const Parts parts_;
  const TierOptions options_;
  PrefixSpaces spaces_;
  WriteBehind writes_;
  std::vector<RestoreCounts> restores_;
};

}  // namespace kvern::engine
