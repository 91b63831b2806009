#include "engine/tiers/flush.h"

#include <algorithm>

namespace kvern::engine {

TierFlush::TierFlush(std::span<const LoopTier> tiers, uint64_t lost) : lost_(lost) {
  const auto keeps = [](const LoopTier& tier) { return tier.saves && !tier.is_cache; };
  keeps_ = std::ranges::any_of(tiers, keeps);
  for (const LoopTier& tier : tiers) {
    if (keeps_ ? keeps(tier) : tier.saves) tiers_.push_back(tier.tier);
  }
  before_ = counts();
}

FlushReport TierFlush::counts() const {
  FlushReport sum;
  for (store::Tier* tier : tiers_) {
    const store::TierStats stats = tier->stats();
    sum.saved += stats.saved;
    sum.dropped += stats.dropped;
    sum.declined += stats.declined;
    sum.failed += stats.failed;
  }
  return sum;
}

uint64_t TierFlush::missing(const std::vector<KeptTokens>& kept) const {
  return static_cast<uint64_t>(std::ranges::count_if(kept, [&](const KeptTokens& one) {
    return std::ranges::none_of(tiers_,
                                [&](store::Tier* tier) { return tier->covers(*one.space, one.tokens); });
  }));
}

FlushReport TierFlush::finish(std::chrono::steady_clock::time_point deadline, const Offered& offered) {
  FlushReport report{.left = offered.left};
  bool durable = true;
  for (store::Tier* tier : tiers_) {
    const FlushReport one = tier->flush(deadline);
    durable = durable && one.durable;
    report.left += one.left;
  }
  const FlushReport now = counts();
  report.saved = now.saved - before_.saved;
  report.dropped = now.dropped - before_.dropped + offered.lost - lost_;
  report.declined = now.declined - before_.declined;
  report.failed = now.failed - before_.failed;
  const uint64_t unsaved = report.left + report.dropped + report.declined + report.failed;
  if (const uint64_t gone = keeps_ ? missing(offered.kept) : 0; gone > unsaved)
    report.evicted = gone - unsaved;
  report.durable = durable && unsaved + report.evicted == 0;
  return report;
}

}  // namespace kvern::engine
