// The remote tier: what one saves the other finds, and servers that do not answer are misses that hold nobody
// up.
#include "store/remote/remote_tier.h"

#include <memory>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "store/remote/servers.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

using std::chrono::steady_clock;
using test::FakeServer;
using test::make_entry;
using test::RealRedis;
using test::RemotePlace;
using test::tokens_of;

const auto kForEver = steady_clock::now() + std::chrono::hours(24);

std::vector<int32_t> with(std::vector<int32_t> tokens, int32_t last) {
  tokens.push_back(last);
  return tokens;
}

// Takes all pieces; compares each with what the tokens say. How many tokens came whole.
int64_t drain(TierRestore& restore, const PrefixSpace& space, const std::vector<int32_t>& tokens) {
  if (restore.shape(kForEver) == nullptr) return 0;
  const test::TokenPieces expected(space, tokens, test::stores_of({}, std::ssize(tokens)));
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

// Waits for the answer, however long a loaded machine takes.
constexpr RemoteTierOptions kPatient{.lookup_wait = std::chrono::seconds(60)};

TEST(RemoteTier, SharesWhatOneSavedWithTheOther) {
  if (!RealRedis::is_installed()) GTEST_SKIP() << "redis-server is not installed (tools/setup.sh test)";
  const RealRedis redis;
  RemotePlace place;
  const auto one_store = place.open(redis.url());
  const auto other_store = place.open(redis.url());
  RemoteTier one(*one_store, place.log, kPatient);
  RemoteTier other(*other_store, place.log, kPatient);
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(200, 1);
  EXPECT_FALSE(other.lookup(space, with(tokens, 1), 0).has_value());
  EXPECT_TRUE(one.offer(make_entry(space, tokens)));
  EXPECT_TRUE(one.flush(kForEver).durable);
  EXPECT_TRUE(one.covers(*space, tokens));
  EXPECT_FALSE(other.covers(*space, tokens));
  auto hit = other.lookup(space, with(tokens, 1), 0);
  ASSERT_TRUE(hit.has_value());
  EXPECT_EQ(hit->tokens, 200);
  EXPECT_EQ(drain(*hit->restore, *space, tokens), 200);
  EXPECT_FALSE(other.lookup(space, with(tokens, 1), 200).has_value());
  EXPECT_FALSE(other.lookup(test::space_named("other"), with(tokens, 1), 0).has_value());
  EXPECT_EQ(other.stats().hits, 1U);
  EXPECT_EQ(one.stats().saved, 1U);
  EXPECT_EQ(one.stats().name, "remote");
  EXPECT_OK(other.erase(*space, tokens));
  EXPECT_FALSE(other.lookup(space, with(tokens, 1), 0).has_value());
  // Who saved it asks nobody whether it is still there, until it misses something.
  EXPECT_TRUE(one.covers(*space, tokens));
  EXPECT_FALSE(one.lookup(space, with(tokens, 1), 0).has_value());
  EXPECT_FALSE(one.covers(*space, tokens));
}

TEST(RemoteTier, EndsARestoreWhenTheServerGoes) {
  if (!RealRedis::is_installed()) GTEST_SKIP() << "redis-server is not installed (tools/setup.sh test)";
  RealRedis redis;
  RemotePlace place;
  const auto store = place.open(redis.url());
  RemoteTier tier(*store, place.log,
                  {.restores = {.threads = 1, .ahead_bytes = 1, .batch_bytes = 1},
                   .lookup_wait = std::chrono::seconds(60)});
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(160, 1);
  ASSERT_TRUE(tier.offer(make_entry(space, tokens)));
  ASSERT_TRUE(tier.flush(kForEver).durable);
  auto hit = tier.lookup(space, with(tokens, 1), 0);
  ASSERT_TRUE(hit.has_value());
  ASSERT_NE(hit->restore->shape(kForEver), nullptr);  // one piece at a time from here on
  redis.stop();
  const int64_t whole = drain(*hit->restore, *space, tokens);
  EXPECT_LT(whole, 160);
  EXPECT_EQ(whole % 16, 0);
  EXPECT_GT(tier.stats().unanswered, 0U);
}

/// A tier whose server takes connections and never answers.
struct HangingTier {
  HangingTier(std::chrono::milliseconds timeout, std::chrono::milliseconds lookup_wait) {
    place.options.client.timeout = timeout;
    store = place.open(server.url());
    tier.emplace(*store, place.log, RemoteTierOptions{.lookup_wait = lookup_wait});
  }
  FakeServer server{test::hang};
  RemotePlace place;
  std::unique_ptr<RemoteStore> store;
  std::optional<RemoteTier> tier;
  const std::shared_ptr<const PrefixSpace> space = test::space_named("model");
};

TEST(RemoteTier, AnswersAreThereWhenAskedForAhead) {
  if (!RealRedis::is_installed()) GTEST_SKIP() << "redis-server is not installed (tools/setup.sh test)";
  const RealRedis redis;
  RemotePlace place;
  const auto store = place.open(redis.url());
  RemoteTier tier(*store, place.log, kPatient);
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(200, 1);
  EXPECT_TRUE(tier.offer(make_entry(space, tokens)));
  EXPECT_TRUE(tier.flush(kForEver).durable);
  const auto prompt = with(tokens, 1);
  EXPECT_FALSE(tier.ready(space, prompt));
  while (!tier.ready(space, prompt)) std::this_thread::yield();
  const uint64_t asked = tier.stats().lookups;
  const auto hit = tier.lookup(space, prompt, 0);
  ASSERT_TRUE(hit.has_value());
  EXPECT_EQ(hit->tokens, 200);
  EXPECT_EQ(tier.stats().lookups, asked);   // the answer was there
  EXPECT_FALSE(tier.ready(space, prompt));  // and is used once
  EXPECT_FALSE(tier.ready(space, tokens_of(100, 2)));
}

TEST(RemoteTier, AServerThatHangsIsReadyToBeMissedInTime) {
  HangingTier hanging(std::chrono::milliseconds(500), std::chrono::milliseconds(20));
  RemoteTier& tier = *hanging.tier;
  const auto& space = hanging.space;
  const auto prompt = tokens_of(100, 1);
  EXPECT_FALSE(tier.ready(space, prompt));
  while (!tier.ready(space, prompt)) std::this_thread::yield();
  EXPECT_FALSE(tier.lookup(space, prompt, 0).has_value());
  EXPECT_EQ(tier.stats().late, 1U);
  // However many ask, none of them waits.
  for (uint64_t i = 2; i < 200; ++i) tier.ready(space, tokens_of(100, i));
  EXPECT_TRUE(tier.ready(space, tokens_of(100, 999)));
}

TEST(RemoteTier, AServerThatHangsIsAMissAndThenLeftAlone) {
  HangingTier hanging(std::chrono::milliseconds(20), std::chrono::milliseconds(1));
  RemoteTier& tier = *hanging.tier;
  const auto& store = hanging.store;
  const auto& space = hanging.space;
  const auto prompt = tokens_of(100, 1);
  while (store->may_call()) EXPECT_FALSE(tier.lookup(space, prompt, 0).has_value());
  EXPECT_GT(tier.stats().late, 0U);
  EXPECT_EQ(tier.stats().unanswered, 2U);
  const int connections = hanging.server.connections();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(tier.lookup(space, prompt, 0).has_value());
  EXPECT_FALSE(tier.offer(make_entry(space, prompt)));
  EXPECT_TRUE(tier.flush(kForEver).durable);  // nothing was promised
  EXPECT_EQ(tier.stats().declined, 1U);
  EXPECT_EQ(hanging.server.connections(), connections);
  // One tries again, later.
  hanging.place.clock.advance(std::chrono::minutes(1));
  EXPECT_TRUE(store->may_call());
}

TEST(RemoteTier, AServerThatAnswersNonsenseIsAMiss) {
  for (const std::string answer : {"garbage\r\n", ":-1\r\n", "$3\r\nabc\r\n", "-ERR no\r\n",
                                   "*2\r\n:1\r\n:2\r\n", ":1000000\r\n", "$-1\r\n"}) {
    FakeServer server(test::answering(answer));
    RemotePlace place;
    // It gives one answer, however many are wanted.
    place.options.client.timeout = std::chrono::milliseconds(50);
    const auto store = place.open(server.url());
    RemoteTier tier(*store, place.log, kPatient);
    const auto space = test::space_named("model");
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(tier.lookup(space, tokens_of(100, 1), 0).has_value()) << answer;
    tier.offer(make_entry(space, tokens_of(40, 1)));
    tier.flush(kForEver);
    EXPECT_EQ(tier.stats().hits, 0U);
    EXPECT_EQ(tier.stats().saved, 0U) << answer;
  }
}

TEST(RemoteTier, GoesWhileQuestionsAndOffersWait) {
  HangingTier hanging(std::chrono::milliseconds(50), std::chrono::milliseconds(0));
  RemoteTier& tier = *hanging.tier;
  const auto& space = hanging.space;
  for (uint64_t i = 0; i < 50; ++i) tier.lookup(space, tokens_of(50, i), 0);
  tier.offer(make_entry(space, tokens_of(50, 1)));
}

}  // namespace
}  // namespace kvern::store
