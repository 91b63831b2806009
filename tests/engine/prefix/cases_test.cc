// Reported faults of other systems in how they reuse prefixes, by the numbers of our collection.
#include <gtest/gtest.h>

#include "engine/prefix/prefix_scene.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using state::LayoutKind;
using test::joined;
using test::layer_of;
using test::PrefixScene;
using test::Served;
using test::some_tokens;
using test::Tokens;

constexpr LayoutKind kLayouts[] = {LayoutKind::kSlab, LayoutKind::kRing, LayoutKind::kPaged,
                                   LayoutKind::kPadded};

PrefixScene::Options options_of(std::vector<state::KvLayerSpec> layers, int64_t slack,
                                LayoutKind layout = LayoutKind::kPaged) {
  return {.spec = {std::move(layers)}, .kv = {.layout = layout, .page = 16, .slack = slack}};
}

// The first `count` tokens, and then others.
Tokens sharing(const Tokens& tokens, int64_t count, const Tokens& others) {
  return joined(Tokens(tokens.begin(), tokens.begin() + count), others);
}

TEST(PrefixCase, B01_AWrappedRingGivesOnlyWhatItCanBeCutTo) {
  for (const LayoutKind layout : kLayouts) {
    SCOPED_TRACE(to_string(layout));
    PrefixScene::Options options = options_of({layer_of(0), layer_of(8)}, 0, layout);
    const Tokens entry = some_tokens(1, 32);
    for (const bool has_older : {false, true}) {
      PrefixScene scene(options);
      if (has_older) scene.serve(some_tokens(1, 12));
      scene.serve(entry);
      const Tokens near = sharing(entry, 31, {1, 2, 3});
      const Served used = scene.serve(near);
      EXPECT_EQ(used.reused, 31);
      EXPECT_TRUE(scene.as_cold(near, used));
      const Tokens far = sharing(entry, 30, {1, 2, 3});
      const Served fallen_back = scene.serve(far);
      EXPECT_EQ(fallen_back.reused, has_older ? 12 : 0);
      EXPECT_EQ(fallen_back.common, 30);
      EXPECT_TRUE(scene.as_cold(far, fallen_back));
    }
  }
}

TEST(PrefixCase, B19_AnExactHitComputesTheLastToken) {
  struct Twice {
    PrefixScene::Options options;
    int64_t tokens;
  };
  for (const LayoutKind layout : kLayouts) {
    for (const Twice& twice :
         {Twice{options_of({layer_of(0)}, 16, layout), 5}, Twice{options_of({layer_of(0)}, 16, layout), 32},
          Twice{options_of({layer_of(8)}, 0, layout), 20},
          Twice{options_of({layer_of(0), layer_of(8)}, 0, layout), 20}}) {
      SCOPED_TRACE(testing::Message() << to_string(layout) << ", " << twice.tokens);
      PrefixScene scene(twice.options);
      const Tokens prompt = some_tokens(1, twice.tokens);
      scene.serve(prompt, some_tokens(2, 20));
      const Served again = scene.serve(prompt);
      EXPECT_EQ(again.reused, twice.tokens - 1);
      EXPECT_EQ(again.computed, 1);
      EXPECT_TRUE(scene.as_cold(prompt, again));
    }
  }
  PrefixScene one_token(options_of({layer_of(0)}, 16));
  one_token.serve({3});
  const Served again = one_token.serve({3});
  EXPECT_EQ(again.reused, 0);
  EXPECT_EQ(again.computed, 1);
}

TEST(PrefixCase, B22_NoConversationGetsAnothersState) {
  PrefixScene::Options options = options_of({layer_of(0)}, 16);
  options.prefix.max_bytes = PrefixScene(options).kv().projected_bytes(1300);
  PrefixScene scene(options);
  const Tokens a = some_tokens(1, 285);
  const Tokens b = sharing(a, 9, some_tokens(2, 1200));  // the same template, nothing else
  scene.serve(a, some_tokens(3, 200));
  const Served second = scene.serve(b);
  EXPECT_EQ(second.reused, 9);
  EXPECT_TRUE(scene.as_cold(b, second));

  std::vector<PrefixScene::Request> open;
  for (uint32_t i = 0; i < 8; ++i) {
    const Tokens prompt = sharing(a, 20 + i, some_tokens(100 + i, 150));
    open.push_back(scene.start(prompt));
    EXPECT_EQ(open.back().served.reused, i == 0 ? 9 : 20 + i - 1) << "the true beginning in common";
    EXPECT_TRUE(scene.as_cold(prompt, open.back().served));
    scene.generate(open.back(), some_tokens(200 + i, 5));
  }
  for (const auto& request : open) scene.end(request);
}

TEST(PrefixCase, B23_ABeginningOfOneTokenIsFound) {
  PrefixScene scene(options_of({layer_of(0)}, 16));
  scene.serve({7});
  EXPECT_EQ(scene.serve({7, 8, 9}).reused, 1);
}

TEST(PrefixCase, B23_AHitMakesRecent) {
  PrefixScene::Options options = options_of({layer_of(0)}, 16);
  options.prefix.max_bytes = PrefixScene(options).kv().projected_bytes(48) * 3;
  PrefixScene scene(options);
  const auto touch = [&](uint32_t seed) {
    const auto hit = scene.prefixes().take("", joined(some_tokens(seed, 48), {1}));
    static_cast<void>(scene.kv().remove_row(hit->row));
    return hit->tokens;
  };
  constexpr uint32_t kS = 1;
  constexpr uint32_t kX = 2;
  constexpr uint32_t kY = 3;
  constexpr uint32_t kZ = 4;
  for (const uint32_t seed : {kS, kX, kY}) scene.serve(some_tokens(seed, 48));
  EXPECT_EQ(touch(kS), 48);
  scene.serve(some_tokens(kZ, 48));
  EXPECT_EQ(touch(kX), 0);
  EXPECT_EQ(touch(kS) + touch(kY) + touch(kZ), 3 * 48);
}

// The model of the cases about hit rates: full attention and a window of 64.
PrefixScene::Options hybrid(LayoutKind layout = LayoutKind::kPaged) {
  return options_of({layer_of(0, 16), layer_of(64, 16)}, 16, layout);
}

TEST(PrefixCase, B25_EachTurnOfAConversationComputesWhatIsNew) {
  for (const LayoutKind layout : kLayouts) {
    SCOPED_TRACE(to_string(layout));
    PrefixScene::Options options = hybrid(layout);
    options.prefix.max_bytes = 2 * PrefixScene(options).kv().projected_bytes(1200);
    PrefixScene scene(options);
    Tokens conversation;
    for (uint32_t turn = 0; turn < 30; ++turn) {
      conversation = joined(conversation, some_tokens(2 * turn, 25));
      const Served served = scene.serve(conversation, some_tokens(2 * turn + 1, 15));
      // The answer comes back as other tokens than were generated: only the prompt is common.
      EXPECT_LE(served.computed, 40) << "turn " << turn;
      EXPECT_LE(scene.prefixes().bytes(), options.prefix.max_bytes);
      if (turn % 10 == 9) {
        EXPECT_TRUE(scene.as_cold(conversation, served));
      }
      conversation = joined(conversation, some_tokens(1000 + turn, 15));
    }
  }
}

TEST(PrefixCase, B25_ManyRequestsShareTheirBeginning) {
  PrefixScene scene(hybrid());
  const Tokens shared = some_tokens(1, 1500);
  for (uint32_t i = 0; i < 64; ++i) {
    const Tokens prompt = joined(shared, some_tokens(100 + i, 700));
    const Served served = scene.serve(prompt);
    if (i == 1) {
      EXPECT_GE(served.reused, 1500 - 256);
    }
    if (i > 1) {
      EXPECT_EQ(served.reused, 1500);
    }
    if (i % 21 == 1) {
      EXPECT_TRUE(scene.as_cold(prompt, served));
    }
  }
}

TEST(PrefixCase, B26_ReuseIsNotRoundedToPagesNorLostBetweenSnapshots) {
  PrefixScene full(options_of({layer_of(0, 16)}, 16));
  PrefixScene windows(hybrid());
  const Tokens prompt = some_tokens(1, 480);
  for (PrefixScene* scene : {&full, &windows}) scene->serve(prompt);
  EXPECT_EQ(windows.serve(sharing(prompt, 300, some_tokens(2, 180))).reused, 256);
  EXPECT_EQ(full.serve(sharing(prompt, 300, some_tokens(2, 180))).reused, 300);

  const Tokens large = some_tokens(3, 10'000);
  const Tokens changed = sharing(large, 9990, some_tokens(4, 10));
  for (PrefixScene* scene : {&full, &windows}) scene->serve(large);
  EXPECT_EQ(full.serve(changed).computed, 10);
  const Served served = windows.serve(changed);
  EXPECT_LE(served.computed, 256 + 10);
  EXPECT_TRUE(windows.as_cold(changed, served));
}

TEST(PrefixCase, B26_WithRoomForFewTheOldestAndTheNewestSnapshotsStay) {
  // A window alone, so that snapshots share nothing and all take the same.
  PrefixScene::Options options = options_of({layer_of(64, 16)}, 16);
  options.prefix.max_bytes = 8 * PrefixScene(options).kv().projected_bytes(256);
  PrefixScene scene(options);
  const Tokens large = some_tokens(3, 10'000);
  scene.serve(large);
  EXPECT_EQ(scene.prefixes().stats().entries, 8);
  const auto reused = [&](int64_t shared) {
    const auto hit = scene.prefixes().take("", sharing(large, shared, {1}));
    static_cast<void>(scene.kv().remove_row(hit->row));
    return hit->tokens;
  };
  EXPECT_EQ(reused(300), 256);
  EXPECT_EQ(reused(5000), 256);
  EXPECT_EQ(reused(9900), 9728);
  EXPECT_EQ(reused(9999), 9999);
}

TEST(PrefixCase, B26_SnapshotsThatNobodyUsedGiveWayToOtherPrompts) {
  PrefixScene::Options options = options_of({layer_of(64, 16)}, 16);
  options.prefix.max_bytes = 8 * PrefixScene(options).kv().projected_bytes(256);
  PrefixScene scene(options);
  scene.serve(some_tokens(1, 100));
  scene.serve(some_tokens(2, 10'000));
  EXPECT_EQ(scene.serve(some_tokens(1, 100)).reused, 99) << "39 regular snapshots later";
}

TEST(PrefixCase, B31_NamespacesSeeTheirOwnOnly) {
  for (const auto& options : {options_of({layer_of(0)}, 16), hybrid()}) {
    PrefixScene scene(options);
    const Tokens prompt = some_tokens(1, 64);
    scene.serve(prompt, {}, "tenant 1");
    EXPECT_EQ(scene.serve(prompt, {}, "tenant 2").reused, 0);
    EXPECT_EQ(scene.serve(prompt, {}, "tenant 1").reused, 63) << "or nothing is kept at all";
    EXPECT_EQ(scene.serve(prompt).reused, 0);

    const PrefixScene::Request running = scene.start(some_tokens(2, 64), "tenant 1");
    const auto other = scene.prefixes().take("tenant 2", some_tokens(2, 64));
    EXPECT_EQ(other->tokens, 0) << "nor running rows";
    EXPECT_EQ(other->common, 0);
    scene.end(running);
  }
}

TEST(PrefixCase, B58_TheBytesHoldAtEveryMoment) {
  for (const LayoutKind layout : kLayouts) {
    SCOPED_TRACE(to_string(layout));
    PrefixScene::Options options = options_of({layer_of(0)}, 16, layout);
    options.prefix.max_bytes = PrefixScene(options).kv().projected_bytes(640);
    PrefixScene scene(options);
    scene.serve(some_tokens(1, 300));
    scene.serve(some_tokens(2, 1000));
    EXPECT_EQ(scene.prefixes().stats().entries, 1) << "one that is larger than all there is makes no room";
    EXPECT_EQ(scene.serve(some_tokens(1, 300)).reused, 299);
  }
}

TEST(PrefixCase, B58_AHitInPagesTakesOnePageAtMost) {
  PrefixScene scene(options_of({layer_of(0)}, 16));
  scene.serve(some_tokens(1, 1000));
  const size_t before = scene.kv().live_bytes();
  const PrefixScene::Request request = scene.start(some_tokens(1, 1000));
  EXPECT_EQ(request.served.reused, 999);
  EXPECT_EQ(scene.kv().live_bytes() - before, scene.kv().projected_bytes(16));
  scene.end(request);
}

}  // namespace
}  // namespace kvern::engine
