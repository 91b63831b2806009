// What kept prefixes promise: the longest usable beginning, rows that nobody sees change, and bytes that are
// counted. The reported faults of other systems are in cases_test.cc beside this.
#include "engine/prefix/prefix_cache.h"

#include <gtest/gtest.h>

#include "engine/prefix/prefix_scene.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using state::KvOptions;
using state::LayoutKind;
using test::joined;
using test::layer_of;
using test::PrefixScene;
using test::Served;
using test::some_tokens;
using test::Tokens;

constexpr LayoutKind kLayouts[] = {LayoutKind::kSlab, LayoutKind::kRing, LayoutKind::kPaged,
                                   LayoutKind::kPadded};

PrefixScene::Options everything(LayoutKind layout = LayoutKind::kPaged) {
  return {.kv = {.layout = layout, .page = 16}};
}

// A full layer and one with a window, as most such models have.
PrefixScene::Options windowed(int64_t window, int64_t slack, LayoutKind layout = LayoutKind::kPaged) {
  PrefixScene::Options options = everything(layout);
  options.spec.layers.push_back(layer_of(window));
  options.kv.slack = slack;
  return options;
}

// Every rule that limits where rows can be cut, and none.
std::vector<PrefixScene::Options> all_rules() {
  std::vector<PrefixScene::Options> rules(5, everything());
  rules[1].spec.layers = {layer_of(20), layer_of(0)};
  rules[1].kv.slack = 4;
  rules[2].kv.precision.quant_start = 70;
  rules[3].kv.precision = {.keep_first = 8, .keep_last = 24};
  rules[3].kv.slack = 0;
  rules[4].spec.layers = {layer_of(33)};
  rules[4].kv.precision.quant_start = 40;
  return rules;
}

// Requests of a few families, long and short, some of them side by side.
void serve_at_random(PrefixScene& scene, std::mt19937& random, size_t max_bytes) {
  const auto draw = [&](int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random);
  };
  std::vector<std::pair<PrefixScene::Request, Tokens>> open;
  int64_t reused = 0;
  for (int i = 0; i < 14; ++i) {
    Tokens prompt = some_tokens(static_cast<uint32_t>(draw(1, 2)), draw(1, 150));
    if (draw(0, 1) == 0) prompt = joined(prompt, some_tokens(static_cast<uint32_t>(draw(3, 4)), draw(1, 60)));
    PrefixScene::Request request = scene.start(prompt);
    ASSERT_TRUE(scene.as_cold(prompt, request.served)) << "request " << i;
    ASSERT_LE(request.served.reused, request.served.common);
    reused += request.served.reused;
    scene.generate(request, some_tokens(static_cast<uint32_t>(i + 10), draw(0, 20)));
    open.emplace_back(request, prompt);
    if (open.size() > 3 || draw(0, 1) == 0) {
      const auto at = open.begin() + draw(0, std::ssize(open) - 1);
      scene.end(at->first);
      open.erase(at);
    }
    ASSERT_LE(scene.prefixes().bytes(), max_bytes);
  }
  ASSERT_GT(reused, 0);
  for (const auto& [request, prompt] : open) scene.end(request);
  ASSERT_LE(scene.prefixes().bytes(), max_bytes);
  ASSERT_EQ(scene.prefixes().bytes(), scene.kv().live_bytes()) << "only kept rows are left";
  scene.prefixes().clear();
  ASSERT_EQ(scene.kv().live_bytes(), 0U);
}

TEST(PrefixCache, NeverShowsInWhatARequestSees) {
  std::mt19937 random(5);
  for (const char* type : {"f16", "k=q8,v=q4", "turbo:k8v3"}) {
    for (const LayoutKind layout : kLayouts) {
      for (PrefixScene::Options options : all_rules()) {
        options.kv.types = *state::parse_kv_types(type);
        // What is not encoded has one precision.
        if (options.kv.precision.mixed() && options.kv.types.k.kind == state::CodecKind::kF16) continue;
        options.kv.layout = layout;
        options.prefix.snapshot_tokens = 32;
        options.chunk = 40;
        SCOPED_TRACE(testing::Message()
                     << type << " in " << to_string(layout) << ", window " << options.spec.layers[0].window);
        for (const int64_t rows : {3, 50}) {
          options.prefix.max_bytes =
              PrefixScene(options).kv().projected_bytes(200) * static_cast<size_t>(rows);
          PrefixScene scene(options);
          ASSERT_NO_FATAL_FAILURE(serve_at_random(scene, random, options.prefix.max_bytes));
        }
      }
    }
  }
}

TEST(PrefixCache, WantsNoSnapshotsWhereRowsCanBeCutAnywhere) {
  PrefixScene scene(everything());
  const Tokens prompt = some_tokens(1, 2000);
  EXPECT_EQ(scene.prefixes().chunk_end("", prompt, 0), 2000);
  const Served served = scene.serve(prompt);
  EXPECT_EQ(served.chunks, 4);
  EXPECT_EQ(scene.prefixes().stats().entries, 1);

  // A window that is never full is none.
  PrefixScene::Options short_rows = windowed(512, 16);
  short_rows.prefix.context_tokens = 500;
  EXPECT_EQ(PrefixScene(short_rows).prefixes().chunk_end("", some_tokens(1, 400), 0), 400);
}

TEST(PrefixCache, SnapshotsTheEndOfAPromptWithoutAChunkMoreIfTheRowCanBeCutByOne) {
  PrefixScene::Options encoded_now = everything();
  encoded_now.kv.types = *state::parse_kv_types("q8");
  encoded_now.kv.precision.quant_start = 200;
  for (const auto& options : {windowed(64, 0), encoded_now}) {
    PrefixScene scene(options);
    const Tokens prompt = some_tokens(1, 200);
    const int64_t end = options.kv.precision.quant_start == 200 ? 199 : 200;
    EXPECT_EQ(scene.prefixes().chunk_end("", prompt, 0), end);
    PrefixScene::Request request = scene.start(prompt);
    EXPECT_EQ(request.served.chunks, end == 199 ? 2 : 1);
    scene.generate(request, some_tokens(2, 100));
    scene.end(request);
    EXPECT_EQ(scene.prefixes().stats().entries, 2);

    const Served again = scene.serve(prompt, some_tokens(2, 100));
    EXPECT_EQ(again.reused, 199);
    EXPECT_TRUE(scene.as_cold(prompt, again));
    const Tokens turn = joined(prompt, some_tokens(3, 50));
    const Served next = scene.serve(turn);
    EXPECT_EQ(next.reused, 200);
    EXPECT_TRUE(scene.as_cold(turn, next));
  }
}

TEST(PrefixCache, SnapshotsWherePromptsHaveBeenSeenToPart) {
  PrefixScene::Options options = windowed(64, 16);
  options.prefix.snapshot_tokens = 1000;
  PrefixScene scene(options);
  const Tokens shared = some_tokens(1, 600);
  const auto prompt = [&](uint32_t i) { return joined(shared, some_tokens(i, 150)); };
  EXPECT_EQ(scene.serve(prompt(2)).reused, 0);
  const Served second = scene.serve(prompt(3));
  EXPECT_EQ(second.reused, 0);
  EXPECT_EQ(second.common, 600) << "says what it could not use";
  const Served third = scene.serve(prompt(4));
  EXPECT_EQ(third.reused, 600);
  EXPECT_TRUE(scene.as_cold(prompt(4), third));
}

TEST(PrefixCache, GivesForksOfRunningRows) {
  for (const LayoutKind layout : kLayouts) {
    SCOPED_TRACE(to_string(layout));
    PrefixScene scene(everything(layout));
    const Tokens prompt = some_tokens(1, 100);
    PrefixScene::Request first = scene.start(prompt);
    PrefixScene::Request second = scene.start(prompt);
    EXPECT_EQ(second.served.reused, 99);
    EXPECT_TRUE(test::same_bits(first.served.seen, second.served.seen));
    scene.generate(first, some_tokens(2, 30));
    const Tokens longer = joined(first.tokens, {1, 2, 3});
    PrefixScene::Request third = scene.start(longer);
    EXPECT_EQ(third.served.reused, 130);
    EXPECT_TRUE(scene.as_cold(longer, third.served));
    EXPECT_EQ(scene.prefixes().stats().entries, 0);

    for (const auto* request : {&first, &second, &third}) {
      scene.prefixes().forget_running(request->row);
      ASSERT_OK(scene.kv().remove_row(request->row));
    }
    scene.prefixes().forget_running(first.row);
    EXPECT_EQ(scene.prefixes().take("", prompt)->tokens, 0) << "nobody holds it any more";
  }
}

// Lesson K18.
TEST(PrefixCache, LeavesTheDonorAsItIs) {
  for (const LayoutKind layout : kLayouts) {
    SCOPED_TRACE(to_string(layout));
    PrefixScene scene(windowed(24, 16, layout));
    const Tokens prompt = some_tokens(1, 90);
    scene.serve(prompt);
    std::vector<PrefixScene::Request> requests;
    for (uint32_t i = 0; i < 3; ++i) {
      const Tokens other = joined(some_tokens(1, 84), some_tokens(10 + i, 40));
      requests.push_back(scene.start(other));
      EXPECT_EQ(requests.back().served.reused, 84);
      EXPECT_TRUE(scene.as_cold(other, requests.back().served));
    }
    const Served again = scene.serve(joined(prompt, {4}));
    EXPECT_EQ(again.reused, 90);
    EXPECT_TRUE(scene.as_cold(joined(prompt, {4}), again));
    for (const auto& request : requests) scene.end(request);
  }
}

// Lesson K19.
TEST(PrefixCache, KeepsEqualTokensOnce) {
  for (const auto& options : {everything(), windowed(24, 4)}) {
    PrefixScene scene(options);
    const Tokens prompt = some_tokens(1, 100);
    const Tokens answer = some_tokens(2, 60);
    scene.serve(prompt, answer);
    const int64_t entries = scene.prefixes().stats().entries;
    const size_t bytes = scene.kv().live_bytes();
    for (int i = 0; i < 5; ++i) scene.serve(prompt, answer);
    EXPECT_EQ(scene.prefixes().stats().entries, entries);
    EXPECT_EQ(scene.kv().live_bytes(), bytes);
  }
}

// Lesson K17.
TEST(PrefixCache, ALongerEntryReplacesABeginningOnlyIfItGivesItToo) {
  PrefixScene cuttable(everything());
  cuttable.serve(some_tokens(1, 50));
  cuttable.serve(some_tokens(1, 90));
  EXPECT_EQ(cuttable.prefixes().stats().entries, 1);
  EXPECT_EQ(cuttable.serve(some_tokens(1, 51)).reused, 50);
  EXPECT_EQ(cuttable.prefixes().stats().entries, 1) << "a beginning of an entry that can be cut is useless";

  PrefixScene windows(windowed(24, 4));
  windows.serve(some_tokens(1, 50));
  windows.serve(some_tokens(1, 90));
  EXPECT_EQ(windows.prefixes().stats().entries, 2);
  const Tokens middle = joined(some_tokens(1, 60), {7});
  const Served served = windows.serve(middle);
  EXPECT_EQ(served.reused, 50) << "the longer one has more in common, but cannot be cut there";
  EXPECT_EQ(served.common, 60);
  EXPECT_TRUE(windows.as_cold(middle, served));
}

TEST(PrefixCache, RemovesTheLeastRecentlyUsedUntilTheBytesHold) {
  PrefixScene::Options options = everything();
  options.prefix.max_bytes = PrefixScene(options).kv().projected_bytes(64) * 3;
  PrefixScene scene(options);
  const auto reused = [&](uint32_t seed) {
    // Asks without leaving a trace but the use.
    const auto hit = scene.prefixes().take("", joined(some_tokens(seed, 64), {1}));
    static_cast<void>(scene.kv().remove_row(hit->row));
    return hit->tokens;
  };
  for (const uint32_t seed : {1, 2, 3}) scene.serve(some_tokens(seed, 64));
  EXPECT_EQ(scene.prefixes().bytes(), options.prefix.max_bytes);
  EXPECT_EQ(reused(1), 64);
  scene.serve(some_tokens(4, 64));
  EXPECT_EQ(reused(2), 0);
  EXPECT_EQ(reused(1), 64);
  EXPECT_EQ(reused(4), 64);
  scene.serve(some_tokens(5, 64));
  EXPECT_EQ(reused(3), 0);
  EXPECT_EQ(scene.prefixes().stats().evictions, 2U);
  EXPECT_EQ(scene.prefixes().stats().entries, 3);
}

TEST(PrefixCache, CountsSharedPagesOnce) {
  PrefixScene::Options options = everything();
  const size_t page = PrefixScene(options).kv().projected_bytes(16);
  options.prefix.max_bytes = page * (8 + 3 * 2);
  PrefixScene scene(options);
  const Tokens shared = some_tokens(1, 128);
  for (uint32_t i = 2; i < 5; ++i) scene.serve(joined(shared, some_tokens(i, 32)));
  EXPECT_EQ(scene.prefixes().stats().entries, 3);
  EXPECT_EQ(scene.prefixes().bytes(), options.prefix.max_bytes);
  scene.serve(joined(shared, some_tokens(6, 16)));
  EXPECT_EQ(scene.prefixes().stats().entries, 3) << "one page more is one too many";
}

TEST(PrefixCache, CountsWhatARunningRowSharesToo) {
  PrefixScene::Options options = windowed(64, 16);
  options.prefix.max_bytes = PrefixScene(options).kv().projected_bytes(300);
  PrefixScene scene(options);
  PrefixScene::Request request = scene.start(some_tokens(1, 300));
  EXPECT_EQ(scene.prefixes().stats().entries, 1);
  EXPECT_EQ(scene.prefixes().bytes(), options.prefix.max_bytes);
  scene.generate(request, some_tokens(2, 200));
  scene.prefixes().forget_running(request.row);
  ASSERT_OK(scene.kv().remove_row(request.row));
  EXPECT_EQ(scene.kv().live_bytes(), options.prefix.max_bytes) << "as much when it has ended";
}

TEST(PrefixCache, EvictsOneAtATimeForWhoeverNeedsTheStorage) {
  PrefixScene scene(everything());
  for (uint32_t i = 1; i < 4; ++i) scene.serve(some_tokens(i, 64));
  const Tokens prompt = joined(some_tokens(3, 64), {1});
  const auto hit = scene.prefixes().take("", prompt);
  const size_t each = scene.kv().projected_bytes(64);
  EXPECT_EQ(scene.kv().live_bytes(), 3 * each);
  EXPECT_TRUE(scene.prefixes().evict_one());
  EXPECT_TRUE(scene.prefixes().evict_one());
  EXPECT_EQ(scene.kv().live_bytes(), each);
  EXPECT_TRUE(scene.prefixes().evict_one());
  EXPECT_FALSE(scene.prefixes().evict_one());
  EXPECT_EQ(*scene.kv().length(hit->row), 64) << "a row that was given out is nobody's to remove";
}

TEST(PrefixCache, AHitWithoutStorageForItsForkChangesNothing) {
  PrefixScene scene(everything(LayoutKind::kSlab));
  scene.serve(some_tokens(1, 64));
  const size_t bytes = scene.kv().live_bytes();
  scene.kv().fail_allocations_after(0);
  EXPECT_ERROR(scene.prefixes().take("", some_tokens(1, 64)), kExhausted, "");
  EXPECT_EQ(scene.prefixes().stats().queried_tokens, 64U) << "of the first request only";
  EXPECT_EQ(scene.prefixes().take("", some_tokens(2, 64))->tokens, 0) << "an empty row needs none";
  scene.kv().fail_allocations_after();
  EXPECT_EQ(scene.kv().live_bytes(), bytes);
  EXPECT_EQ(scene.prefixes().take("", some_tokens(1, 64))->tokens, 63);
}

TEST(PrefixCache, APromptGoesOnWhereThereIsNoStorageForASnapshot) {
  PrefixScene scene(windowed(64, 16, LayoutKind::kSlab));
  const Tokens prompt = some_tokens(1, 200);
  const auto row = scene.kv().add_row();
  ASSERT_TRUE(scene.rows().grow(row, prompt, 200));
  scene.kv().fail_allocations_after(0);
  scene.prefixes().snapshot("", row, prompt);
  scene.kv().fail_allocations_after();
  EXPECT_EQ(scene.prefixes().stats().entries, 0);
  EXPECT_EQ(scene.prefixes().take("", prompt)->tokens, 0);
  scene.prefixes().snapshot("", row, prompt);
  EXPECT_EQ(scene.prefixes().take("", prompt)->tokens, 199);
}

TEST(PrefixCache, KeepsNothingWithoutBytes) {
  PrefixScene::Options options = windowed(24, 16);
  options.prefix.max_bytes = 0;
  PrefixScene scene(options);
  scene.serve(some_tokens(1, 100), some_tokens(2, 10));
  EXPECT_EQ(scene.prefixes().stats().entries, 0);
  EXPECT_EQ(scene.kv().live_bytes(), 0U);
  EXPECT_EQ(scene.prefixes().chunk_end("", some_tokens(1, 100), 0), 100);
}

TEST(PrefixCache, SaysHowMuchWasFound) {
  PrefixScene scene(everything());
  scene.serve(some_tokens(1, 100));
  scene.serve(joined(some_tokens(1, 60), some_tokens(2, 40)));
  const PrefixStats stats = scene.prefixes().stats();
  EXPECT_EQ(stats.queried_tokens, 200U);
  EXPECT_EQ(stats.hit_tokens, 60U);
  EXPECT_EQ(stats.entries, 2);
}

TEST(PrefixCache, RemovesItsRowsWhenItEnds) {
  state::KvOptions kv{.layout = LayoutKind::kPaged};
  test::TokenRows rows({{layer_of(0)}}, kv);
  {
    PrefixCache prefixes(rows.kv(), {.max_bytes = size_t{1} << 30});
    const Tokens tokens = some_tokens(1, 50);
    const auto row = rows.kv().add_row();
    ASSERT_TRUE(rows.grow(row, tokens, 50));
    prefixes.put("", tokens, row);
    EXPECT_GT(rows.kv().live_bytes(), 0U);
  }
  EXPECT_EQ(rows.kv().live_bytes(), 0U);
}

}  // namespace
}  // namespace kvern::engine
