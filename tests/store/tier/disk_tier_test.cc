// The disk as a tier: offers, lookups, restores that wait for no save and end early where something is
// damaged.
#include "store/tier/disk_tier.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "store/entries.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

using std::chrono::steady_clock;
using test::make_entry;
using test::Place;
using test::tokens_of;

const auto kForEver = steady_clock::now() + std::chrono::hours(24);

std::vector<int32_t> with(std::vector<int32_t> tokens, int32_t last) {
  tokens.push_back(last);
  return tokens;
}

// Takes all pieces; compares each with what the tokens say. How many tokens came whole.
int64_t drain(TierRestore& restore, const PrefixSpace& space, const std::vector<int32_t>& tokens) {
  if (restore.shape(kForEver) == nullptr) return 0;
  const auto length = static_cast<int64_t>(tokens.size());
  const test::TokenPieces expected(space, tokens, test::stores_of({}, length));
  while (!restore.finished()) {
    restore.wait(kForEver);
    const auto piece = restore.take();
    if (!piece) continue;
    std::vector<std::byte> right(piece->bytes.size());
    expected.read(piece->store, piece->positions, right);
    EXPECT_TRUE(std::equal(right.begin(), right.end(), piece->bytes.begin()));
  }
  return restore.until();
}

TEST(DiskTier, KeepsWhatIsOfferedAndBringsItBack) {
  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  DiskTier tier(*store, place.log, {.restores = {.threads = 2, .ahead_bytes = 1000, .batch_bytes = 500}});
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(200, 1);
  EXPECT_TRUE(tier.offer(make_entry(space, tokens)));
  EXPECT_TRUE(tier.flush(kForEver).durable);
  EXPECT_TRUE(tier.covers(*space, tokens));
  auto hit = tier.lookup(space, with(tokens, 1), 0);
  ASSERT_TRUE(hit.has_value());
  EXPECT_EQ(hit->tokens, 200);
  EXPECT_EQ(drain(*hit->restore, *space, tokens), 200);
  EXPECT_EQ(hit->restore->minimum_reusable(), 0);
  EXPECT_FALSE(tier.lookup(space, with(tokens, 1), 200).has_value());
  EXPECT_FALSE(tier.lookup(test::space_named("other"), with(tokens, 1), 0).has_value());
  const TierStats stats = tier.stats();
  EXPECT_EQ(stats.saved, 1U);
  EXPECT_EQ(stats.entries, 1);
  EXPECT_EQ(stats.lookups, 3U);
  EXPECT_EQ(stats.hits, 2U);
  EXPECT_OK(tier.erase(*space, tokens));
  EXPECT_ERROR(tier.erase(*space, tokens), kNotFound, "no such");
  EXPECT_FALSE(tier.covers(*space, tokens));
}

TEST(DiskTier, ReadsOnlyWhatTheBeginningNeeds) {
  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  DiskTier tier(*store, place.log, {});
  const auto space = test::space_named("model");
  auto tokens = tokens_of(200, 1);
  ASSERT_TRUE(tier.offer(make_entry(space, tokens)));
  ASSERT_TRUE(tier.flush(kForEver).durable);
  std::vector<int32_t> prompt(tokens.begin(), tokens.begin() + 20);
  const auto before = tier.stats().bytes_read;
  auto hit = tier.lookup(space, with(prompt, 1), 0);
  ASSERT_TRUE(hit.has_value());
  EXPECT_EQ(hit->tokens, 20);
  EXPECT_EQ(drain(*hit->restore, *space, tokens), 20);
  // The manifest and the two pages in which 20 tokens lie.
  const auto manifest = store->manifest(store->list()->front().manifest);
  EXPECT_LT(tier.stats().bytes_read - before, 2 * 8192U + 16384U);
}

TEST(DiskTier, EndsARestoreBeforeTheFirstPieceThatIsDamaged) {
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(64, 1);
  for (size_t damaged = 0; damaged < 4; ++damaged) {
    Place place;
    ASSERT_OK_AND_ASSIGN(const auto store, place.open());
    DiskTier tier(*store, place.log, {});
    ASSERT_TRUE(tier.offer(make_entry(space, tokens)));
    ASSERT_TRUE(tier.flush(kForEver).durable);
    ASSERT_OK_AND_ASSIGN(const Manifest m, store->manifest(store->list()->front().manifest));
    ASSERT_OK(place.files->remove("kv/blocks/" + m.pieces[damaged].block->to_string()));
    // Two at once: both end there.
    auto one = tier.lookup(space, with(tokens, 1), 0);
    auto two = tier.lookup(space, with(tokens, 2), 0);
    ASSERT_TRUE(one.has_value());
    EXPECT_EQ(drain(*one->restore, *space, tokens), static_cast<int64_t>(damaged) * 16);
    if (two) {
      EXPECT_EQ(drain(*two->restore, *space, tokens), static_cast<int64_t>(damaged) * 16);
    }
    const auto later = tier.lookup(space, with(tokens, 1), 0);
    EXPECT_EQ(later ? later->tokens : 0, static_cast<int64_t>(damaged) * 16);
  }
}

TEST(DiskTier, AnEntryThatGoesWhileItIsReadIsAMiss) {
  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  DiskTier tier(*store, place.log, {.restores = {.threads = 1, .ahead_bytes = 1, .batch_bytes = 1}});
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(160, 1);
  ASSERT_TRUE(tier.offer(make_entry(space, tokens)));
  ASSERT_TRUE(tier.flush(kForEver).durable);
  auto hit = tier.lookup(space, with(tokens, 1), 0);
  ASSERT_NE(hit->restore->shape(kForEver), nullptr);  // one piece at a time from here on
  ASSERT_OK(tier.erase(*space, tokens));
  EXPECT_LE(drain(*hit->restore, *space, tokens), 32);
}

// Files whose writes wait until they are let.
class SlowWrites final : public BlockIo {
 public:
  explicit SlowWrites(BlockIo& inner) : inner_(inner) {}
  void read(std::span<BlockRead> reads) override { inner_.read(reads); }
  void write(std::span<BlockWrite> writes) override {
    {
      const MutexLock lock(mutex_);
      ++waiting_;
      changed_.notify_all();
      while (!open_) changed_.wait(mutex_);
    }
    inner_.write(writes);
  }
  std::string description() const override { return "slow"; }
  void open(bool open) {
    const MutexLock lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  void wait_for_a_write() {
    const MutexLock lock(mutex_);
    while (waiting_ == 0) changed_.wait(mutex_);
  }

 private:
  BlockIo& inner_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  bool open_ = true;
  int waiting_ = 0;
};

TEST(DiskTier, RestoresAndLooksUpWhileASaveHangs) {
  Place place;
  SlowWrites slow(*place.io);
  const DiskParts parts{*place.files, slow, place.clock, place.log};
  ASSERT_OK_AND_ASSIGN(const auto store, DiskStore::open(parts, place.options));
  DiskTier tier(*store, place.log, {});
  const auto space = test::space_named("model");
  ASSERT_TRUE(tier.offer(make_entry(space, tokens_of(64, 1))));
  ASSERT_TRUE(tier.flush(kForEver).durable);
  slow.open(false);
  ASSERT_TRUE(tier.offer(make_entry(space, tokens_of(64, 2))));
  slow.wait_for_a_write();
  auto hit = tier.lookup(space, with(tokens_of(64, 1), 1), 0);
  ASSERT_TRUE(hit.has_value());
  EXPECT_EQ(drain(*hit->restore, *space, tokens_of(64, 1)), 64);
  EXPECT_FALSE(tier.flush(steady_clock::now()).durable);
  slow.open(true);
  EXPECT_TRUE(tier.flush(kForEver).durable);
}

TEST(DiskTier, LeavesWholeEntriesWhenTheQueueIsFull) {
  Place place;
  SlowWrites slow(*place.io);
  const DiskParts parts{*place.files, slow, place.clock, place.log};
  ASSERT_OK_AND_ASSIGN(const auto store, DiskStore::open(parts, place.options));
  const auto space = test::space_named("model");
  const uint64_t one = make_entry(space, tokens_of(64, 1)).bytes();
  DiskTier tier(*store, place.log, {.writes = {.max_bytes = 4 * one}});
  slow.open(false);
  for (uint64_t seed = 0; seed < 20; ++seed) tier.offer(make_entry(space, tokens_of(64, seed)));
  EXPECT_LE(tier.stats().pending_bytes, 4 * one);
  slow.open(true);
  tier.flush(kForEver);
  const TierStats stats = tier.stats();
  EXPECT_EQ(stats.saved + stats.dropped, 20U);
  EXPECT_GE(stats.dropped, 15U);
  int64_t whole = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    auto hit = tier.lookup(space, with(tokens_of(64, seed), 1), 0);
    if (!hit) continue;
    EXPECT_EQ(drain(*hit->restore, *space, tokens_of(64, seed)), 64);
    ++whole;
  }
  EXPECT_EQ(whole, static_cast<int64_t>(stats.saved));
}

TEST(DiskTier, EndsRestoresThatNobodyWantsAnyMore) {
  Place place;
  ASSERT_OK_AND_ASSIGN(const auto store, place.open());
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(160, 1);
  std::optional<TierHit> left;
  {
    DiskTier tier(*store, place.log, {.restores = {.threads = 2, .ahead_bytes = 1, .batch_bytes = 1}});
    ASSERT_TRUE(tier.offer(make_entry(space, tokens)));
    ASSERT_TRUE(tier.flush(kForEver).durable);
    for (int i = 0; i < 20; ++i) tier.lookup(space, with(tokens, i), 0);
    left = tier.lookup(space, with(tokens, 1), 0);
  }
  // The tier went first.
  while (left->restore->take()) {
  }
  EXPECT_TRUE(left->restore->finished());
}

}  // namespace
}  // namespace kvern::store
