#include "engine/tiers/flush.h"

#include <gtest/gtest.h>

#include "engine/support/fake_tier.h"

namespace kvern::engine {
namespace {

using test::FakeTier;

store::NewEntry entry_of(int32_t token) {
  return {.space = std::make_shared<const store::PrefixSpace>(), .tokens = {token}};
}

TEST(TierFlush, promises_what_all_tiers_have_saved) {
  FakeTier one;
  FakeTier two;
  TierFlush flush(std::vector<LoopTier>{{.tier = &one}, {.tier = &two}}, 3);
  one.offer(entry_of(1));
  two.offer(entry_of(1));
  const FlushReport report = flush.finish({}, {.lost = 3});
  EXPECT_TRUE(report.durable);
  EXPECT_EQ(report.saved, 2U);
}

TEST(TierFlush, says_what_it_cannot_promise) {
  FakeTier tier;
  const std::vector<LoopTier> tiers = {{.tier = &tier}};
  tier.saves_at_once = false;
  {
    TierFlush flush(tiers, 0);
    tier.offer(entry_of(1));
    const FlushReport report = flush.finish({}, {});
    EXPECT_FALSE(report.durable);
    EXPECT_EQ(report.left, 1U);
  }
  {
    TierFlush flush(tiers, 0);
    tier.drop_waiting();
    const FlushReport report = flush.finish({}, {});
    EXPECT_FALSE(report.durable);
    EXPECT_EQ(report.dropped, 1U);
  }
  {
    TierFlush flush(tiers, 0);
    tier.declines = true;
    EXPECT_FALSE(tier.offer(entry_of(1)));
    tier.declines = false;
    const FlushReport report = flush.finish({}, {});
    EXPECT_FALSE(report.durable);
    EXPECT_EQ(report.dropped, 0U);
    EXPECT_EQ(report.declined, 1U);
  }
  {
    TierFlush flush(tiers, 4);
    const FlushReport report = flush.finish({}, {.lost = 5});
    EXPECT_FALSE(report.durable);
    EXPECT_EQ(report.dropped, 1U);
  }
  {
    TierFlush flush(tiers, 0);
    const FlushReport report = flush.finish({}, {.left = 1});
    EXPECT_FALSE(report.durable);
    EXPECT_EQ(report.left, 1U);
  }
  EXPECT_TRUE(TierFlush(tiers, 0).finish({}, {}).durable);
}

TEST(TierFlush, says_what_is_gone_again) {
  FakeTier tier;
  const std::vector<LoopTier> tiers = {{.tier = &tier}};
  const store::NewEntry entry = entry_of(1);
  const std::vector<KeptTokens> kept = {{.space = entry.space, .tokens = entry.tokens}};
  TierFlush flush(tiers, 0);
  tier.offer(entry_of(1));
  EXPECT_TRUE(flush.finish({}, {.kept = kept}).durable);
  tier.forget_all();
  const FlushReport report = flush.finish({}, {.kept = kept});
  EXPECT_FALSE(report.durable);
  EXPECT_EQ(report.saved, 1U);
  EXPECT_EQ(report.evicted, 1U);
  // A cache makes no promise that it could break.
  EXPECT_TRUE(TierFlush(std::vector<LoopTier>{{.tier = &tier, .is_cache = true}}, 0)
                  .finish({}, {.kept = kept})
                  .durable);
}

TEST(TierFlush, counts_what_was_not_saved_once) {
  FakeTier tier;
  tier.declines = true;
  TierFlush flush(std::vector<LoopTier>{{.tier = &tier}}, 0);
  store::NewEntry entry = entry_of(1);
  const std::vector<KeptTokens> kept = {{.space = entry.space, .tokens = entry.tokens}};
  EXPECT_FALSE(tier.offer(std::move(entry)));
  const FlushReport report = flush.finish({}, {.kept = kept});
  EXPECT_EQ(report.declined, 1U);
  EXPECT_EQ(report.evicted, 0U);
}

TEST(TierFlush, asks_only_those_that_save) {
  FakeTier tier;
  tier.saves_at_once = false;
  tier.offer(entry_of(1));
  EXPECT_TRUE(TierFlush(std::vector<LoopTier>{{.tier = &tier, .saves = false}}, 0).finish({}, {}).durable);
}

TEST(TierFlush, says_nothing_of_a_cache_beside_a_tier_that_keeps) {
  FakeTier disk;
  FakeTier cache;
  cache.saves_at_once = false;
  cache.offer(entry_of(1));
  const LoopTier as_cache{.tier = &cache, .is_cache = true};
  EXPECT_TRUE(TierFlush(std::vector<LoopTier>{{.tier = &disk}, as_cache}, 0).finish({}, {}).durable);
  EXPECT_FALSE(TierFlush(std::vector<LoopTier>{as_cache}, 0).finish({}, {}).durable);
  const LoopTier read_only{.tier = &disk, .saves = false};
  EXPECT_FALSE(TierFlush(std::vector<LoopTier>{read_only, as_cache}, 0).finish({}, {}).durable);
}

}  // namespace
}  // namespace kvern::engine
