// Prefixes in a real Redis server: what comes back is what the tokens say, or nothing.
#include "store/remote/remote_store.h"

#include <gtest/gtest.h>

#include "store/remote/servers.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

using test::make_entry;
using test::RealRedis;
using test::RemotePlace;
using test::tokens_of;

std::vector<int32_t> with(std::vector<int32_t> tokens, int32_t last) {
  tokens.push_back(last);
  return tokens;
}

// How many tokens of a prompt a store gives; -1: bytes of something else.
int64_t reuse(RemoteStore& store, const PrefixSpace& space, const std::vector<int32_t>& prompt) {
  const auto hit = store.find(space, prompt);
  if (!hit || !*hit) return 0;
  const int64_t tokens = (*hit)->tokens;
  const auto m = store.load(space, prompt, **hit);
  if (!m) return 0;
  const test::TokenPieces expected(space, std::span(prompt).first(static_cast<size_t>(tokens)), m->stores);
  int64_t good = tokens;
  for (size_t i = 0; i < m->pieces.size(); ++i) {
    const ManifestPiece& piece = m->pieces[i];
    const bool cuttable = m->stores[piece.store].kind != StateKind::kRecurrent;
    const state::PositionRange wanted{piece.positions.begin, std::min(piece.positions.end, tokens)};
    if (cuttable && wanted.begin >= wanted.end) continue;
    const size_t index[] = {i};
    const auto loaded = std::move(store.read(*m, index)[0]);
    if (!loaded) {
      good = std::min(good, cuttable ? wanted.begin : 0);
      continue;
    }
    std::vector<std::byte> right(cuttable ? static_cast<size_t>(wanted.size()) *
                                                m->stores[piece.store].store.bytes_per_position
                                          : loaded->bytes.size());
    expected.read(piece.store, cuttable ? wanted : piece.positions, right);
    if (!std::equal(right.begin(), right.end(), loaded->bytes.begin())) return -1;
  }
  return good >= m->minimum_reusable ? good : 0;
}

struct Remote : testing::Test {
  void SetUp() override {
    if (!RealRedis::is_installed()) GTEST_SKIP() << "redis-server is not installed (tools/setup.sh test)";
    redis = std::make_unique<RealRedis>();
  }
  std::unique_ptr<RealRedis> redis;
  RemotePlace place;
};

TEST_F(Remote, GivesBackWhatAnotherMachineSaved) {
  const auto first = place.open(redis->url());
  const auto second = place.open(redis->url());
  uint64_t seed = 1;
  for (const test::EntryKind& kind :
       {test::EntryKind{}, test::EntryKind{.window = 20}, test::EntryKind{.recurrent = true}}) {
    const auto space = test::space_named("model " + std::to_string(seed));
    const auto tokens = tokens_of(100, seed++);
    EXPECT_EQ(reuse(*second, *space, with(tokens, 7)), 0);
    ASSERT_OK_AND_ASSIGN(const bool saved, first->put(make_entry(space, tokens, kind)));
    EXPECT_TRUE(saved);
    EXPECT_EQ(reuse(*second, *space, with(tokens, 7)), 100);
    EXPECT_EQ(reuse(*second, *space, tokens), kind.recurrent ? 0 : 99);
    EXPECT_EQ(reuse(*second, *test::space_named("other"), with(tokens, 7)), 0);
  }
  EXPECT_EQ(second->stats().damaged, 0U);
  EXPECT_EQ(second->stats().failures, 0U);
}

TEST_F(Remote, ForgetsWhatIsWholeAndNoGood) {
  const auto store = place.open(redis->url());
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(100, 1);
  ASSERT_OK(store->put(make_entry(space, with(tokens, 1))));
  ASSERT_OK(store->put(make_entry(space, with(tokens, 2))));
  ASSERT_OK(store->put(make_entry(space, tokens_of(64, 2))));
  store->distrust(*space, tokens);
  EXPECT_EQ(reuse(*store, *space, with(tokens, 7)), 0);
  EXPECT_EQ(reuse(*store, *space, with(tokens_of(64, 2), 7)), 64);
  EXPECT_EQ(store->stats().damaged, 2U);
}

TEST_F(Remote, SharesPagesAndWritesThemOnce) {
  const auto store = place.open(redis->url());
  const auto space = test::space_named("model");
  const auto prompt = tokens_of(160, 1);
  for (int32_t i = 0; i < 5; ++i) {
    auto tokens = prompt;
    for (const int32_t t : tokens_of(20, static_cast<uint64_t>(i) + 9)) tokens.push_back(t);
    ASSERT_OK(store->put(make_entry(space, tokens)));
    EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 180);
  }
  EXPECT_EQ(store->stats().blocks_written, 10U + 5U);
  EXPECT_EQ(store->stats().blocks_reused, 40U);
  EXPECT_EQ(redis->keys("kvern:1:16:b:*").size(), 15U);
  EXPECT_EQ(reuse(*store, *space, with(prompt, 1)), 160);
  EXPECT_EQ(reuse(*store, *space, std::vector(prompt.begin(), prompt.begin() + 37)), 36);
}

// Against a plain list: the longest usable beginning, as long as at most kMostLinked differ at a link.
TEST_F(Remote, FindsTheLongestUsableBeginning) {
  const auto store = place.open(redis->url());
  const auto space = test::space_named("model");
  struct Known {
    std::vector<int32_t> tokens;
    int64_t minimum;
  };
  std::vector<Known> all;
  uint64_t random = 1;
  const auto next = [&](uint64_t below) { return (random = test::mix(random + 1)) % below; };
  for (int i = 0; i < 60; ++i) {
    std::vector<int32_t> tokens;
    if (!all.empty() && next(3) > 0) {
      const auto& other = all[next(all.size())].tokens;
      tokens.assign(other.begin(), other.begin() + static_cast<ptrdiff_t>(1 + next(other.size())));
    }
    const uint64_t which = 100 + next(1000);  // before the length on every compiler
    const auto more = tokens_of(static_cast<int64_t>(1 + next(40)), which);
    tokens.insert(tokens.end(), more.begin(), more.end());
    const test::EntryKind kind{.window = next(2) == 0 ? 0 : 10};
    if (i % 2 == 0) {
      const NewEntry entry = make_entry(space, tokens, kind);
      all.push_back({tokens, entry.minimum_reusable});
      ASSERT_OK(store->put(entry));
      continue;
    }
    int64_t best = 0;
    for (const Known& known : all) {
      const auto common = std::ranges::mismatch(known.tokens, tokens).in1 - known.tokens.begin();
      const auto usable = std::min<int64_t>(common, std::ssize(tokens) - 1);
      if (usable >= known.minimum) best = std::max<int64_t>(best, usable);
    }
    EXPECT_EQ(reuse(*store, *space, tokens), best) << i;
  }
}

TEST_F(Remote, ReadsNothingThatIsDamagedAndRemovesIt) {
  const auto store = place.open(redis->url());
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(64, 1);
  ASSERT_OK(store->put(make_entry(space, tokens)));
  const auto hit = **store->find(*space, with(tokens, 1));
  const Manifest m = *store->load(*space, with(tokens, 1), hit);
  const std::string key = "kvern:1:16:b:" + m.pieces[2].block->to_string();
  const std::string content = redis->ask({"GET", key}).text;
  std::string wrong = content;
  wrong[5000] ^= 4;
  redis->ask({"SET", key, wrong});
  EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 32);
  EXPECT_EQ(store->stats().damaged, 1U);
  EXPECT_EQ(redis->ask({"EXISTS", key}).integer, 0);
  // The block of another place, which is whole in itself.
  redis->ask({"SET", key, redis->ask({"GET", "kvern:1:16:b:" + m.pieces[0].block->to_string()}).text});
  EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 32);
  // The next save mends it.
  ASSERT_OK(store->put(make_entry(space, tokens)));
  EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 64);
  redis->ask({"SET", "kvern:1:16:m:" + hit.manifest.to_string(), "no manifest"});
  EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 0);
  for (const std::string& link : redis->keys("kvern:1:16:l:*")) redis->ask({"SET", link, "no link"});
  EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 0);
}

TEST_F(Remote, MissesWhatTheServerLetGo) {
  const auto store = place.open(redis->url());
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(200, 1);
  const std::vector<int32_t> shorter(tokens.begin(), tokens.begin() + 100);
  ASSERT_OK(store->put(make_entry(space, shorter)));
  ASSERT_OK(store->put(make_entry(space, tokens)));
  const auto hit = **store->find(*space, with(tokens, 1));
  // Its manifest: what came before it is found, where it is still linked.
  redis->ask({"DEL", "kvern:1:16:m:" + hit.manifest.to_string()});
  const uint64_t losses = store->losses();
  EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 100);
  EXPECT_GT(store->losses(), losses);
  // Some links: those around are looked at, too.
  ASSERT_OK(store->put(make_entry(space, tokens)));
  const auto links = prefix_chain(space->root, tokens, place.options.chain);
  for (const size_t gone : {1U, 4U, 7U}) redis->ask({"DEL", RemoteKeys(16).link(links[gone])});
  EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 200);
  redis->ask({"FLUSHALL"});
  EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 0);
}

TEST_F(Remote, KeysHaveATimeToLiveThatASaveRenews) {
  place.options.seconds_to_live = 1000;
  const auto store = place.open(redis->url());
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(40, 1);
  ASSERT_OK(store->put(make_entry(space, tokens)));
  for (const std::string& key : redis->keys("*")) {
    const int64_t left = redis->ask({"TTL", key}).integer;
    EXPECT_GT(left, 0) << key;
    EXPECT_LE(left, 1000) << key;
    redis->ask({"EXPIRE", key, "5"});
  }
  NewEntry again = make_entry(space, tokens);
  again.seconds_to_live = 500;
  ASSERT_OK(store->put(again));
  EXPECT_EQ(store->stats().blocks_reused, 2U);
  for (const std::string& key : redis->keys("*")) {
    if (key.find(":m:") != std::string::npos) continue;  // the former one may go
    EXPECT_GT(redis->ask({"TTL", key}).integer, 5) << key;
  }
  RemotePlace for_ever;
  for_ever.options.seconds_to_live = 0;
  redis->ask({"FLUSHALL"});
  ASSERT_OK(for_ever.open(redis->url())->put(make_entry(space, tokens)));
  for (const std::string& key : redis->keys("*")) EXPECT_EQ(redis->ask({"TTL", key}).integer, -1) << key;
}

TEST_F(Remote, ForgetsAnEntry) {
  const auto store = place.open(redis->url());
  const auto space = test::space_named("model");
  const auto tokens = tokens_of(70, 1);
  ASSERT_OK(store->put(make_entry(space, tokens)));
  EXPECT_ERROR(store->erase(*space, tokens_of(70, 2)), kNotFound, "no such");
  EXPECT_OK(store->erase(*space, tokens));
  EXPECT_ERROR(store->erase(*space, tokens), kNotFound, "no such");
  EXPECT_EQ(reuse(*store, *space, with(tokens, 1)), 0);
}

TEST_F(Remote, SaysWhenTheServerIsFull) {
  redis->ask({"CONFIG", "SET", "maxmemory", "1"});
  const auto store = place.open(redis->url());
  EXPECT_ERROR(store->put(make_entry(test::space_named("model"), tokens_of(64, 1))), kExhausted, "OOM");
}

}  // namespace
}  // namespace kvern::store
