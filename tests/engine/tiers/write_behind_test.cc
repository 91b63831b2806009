// What is offered to tiers, when, and what it holds meanwhile.
#include "engine/tiers/write_behind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/prefix/prefix_scene.h"
#include "engine/support/fake_tier.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using std::chrono::milliseconds;
using test::FakeTier;
using test::joined;
using test::layer_of;
using test::PrefixScene;
using test::some_tokens;
using test::Tokens;
using testing::IsEmpty;
using testing::SizeIs;

class WriteBehindTest : public testing::Test {
 protected:
  void make(PrefixScene::Options options = scene_options()) {
    options_.tiers = {{.tier = &tier_}};
    options_.identity.cache = "a cache\n";
    options_.settle = milliseconds(100);
    scene_ = std::make_unique<PrefixScene>(options);
    spaces_ = std::make_unique<PrefixSpaces>(options_.identity);
    writes_ = std::make_unique<WriteBehind>(
        WriteBehind::Parts{
            .kv = scene_->kv(), .spaces = *spaces_, .prefixes = scene_->prefixes(), .clock = clock_},
        options_);
    scene_->prefixes().observe(writes_.get());
  }
  static PrefixScene::Options scene_options() {
    return {.kv = {.layout = state::LayoutKind::kPaged, .page = 16}};
  }
  void TearDown() override {
    tier_.drop_waiting();
    scene_.reset();  // before whom it tells
  }
  void step() { writes_->step(clock_.now()); }
  /// Steps until nothing more is offered.
  void settle() {
    clock_.advance(options_.settle);
    for (size_t before = SIZE_MAX; std::exchange(before, tier_.offered.size()) != tier_.offered.size();)
      step();
    step();
  }

  ManualClock clock_{{}};
  FakeTier tier_;
  TierOptions options_;
  std::unique_ptr<PrefixSpaces> spaces_;
  std::unique_ptr<WriteBehind> writes_;
  std::unique_ptr<PrefixScene> scene_;
};

TEST_F(WriteBehindTest, offers_nothing_once_the_identity_does_not_hold) {
  bool holds = true;
  options_.identity_holds = [&] { return holds; };
  make();
  scene_->serve(some_tokens(1, 40));
  settle();
  EXPECT_THAT(tier_.offered, SizeIs(1));
  scene_->serve(some_tokens(2, 40));
  holds = false;
  settle();
  while (scene_->prefixes().evict_one()) {
  }
  EXPECT_THAT(tier_.offered, SizeIs(1));
}

TEST_F(WriteBehindTest, saves_what_has_settled_once) {
  make();
  const Tokens prompt = some_tokens(1, 60);
  scene_->serve(prompt);
  step();
  EXPECT_THAT(tier_.offered, IsEmpty());
  ASSERT_TRUE(writes_->next_step());
  EXPECT_EQ(*writes_->next_step() - clock_.now(), milliseconds(100));
  clock_.advance(milliseconds(100));
  step();
  EXPECT_THAT(tier_.offered, testing::ElementsAre(prompt));
  EXPECT_GT(writes_->saving_bytes(), 0U);
  step();
  EXPECT_EQ(writes_->saving_bytes(), 0U);
  EXPECT_FALSE(writes_->next_step());
  settle();
  EXPECT_THAT(tier_.offered, SizeIs(1));
}

TEST_F(WriteBehindTest, saves_a_conversation_that_goes_on_when_it_pauses) {
  make();
  Tokens conversation = some_tokens(1, 40);
  for (uint32_t turn = 0; turn < 5; ++turn) {
    conversation = joined(conversation, some_tokens(10 + turn, 10));
    scene_->serve(conversation);
    clock_.advance(milliseconds(50));
    step();
  }
  EXPECT_THAT(tier_.offered, IsEmpty());
  settle();
  EXPECT_THAT(tier_.offered, testing::ElementsAre(conversation));
}

TEST_F(WriteBehindTest, saves_nothing_that_is_short_or_safe) {
  make();
  scene_->serve(some_tokens(1, 20));
  scene_->serve(some_tokens(2, 50));
  settle();
  EXPECT_THAT(tier_.offered, SizeIs(1));
  // Another cache of the same kind: the tier has it already.
  const auto offered = tier_.offered;
  scene_.reset();
  make();
  scene_->serve(some_tokens(2, 50));
  settle();
  EXPECT_EQ(tier_.offered, offered);
  while (scene_->prefixes().evict_one()) {
  }
  EXPECT_EQ(tier_.offered, offered);
}

TEST_F(WriteBehindTest, saves_one_row_a_step) {
  make();
  for (uint32_t i = 0; i < 5; ++i) scene_->serve(some_tokens(i, 50));
  clock_.advance(milliseconds(100));
  for (size_t i = 1; i <= 5; ++i) {
    step();
    EXPECT_THAT(tier_.offered, SizeIs(i));
  }
}

TEST_F(WriteBehindTest, saves_the_snapshots_of_rows_that_cannot_be_cut) {
  PrefixScene::Options options = scene_options();
  options.spec = {{layer_of(0), layer_of(20)}};
  options.kv.slack = 4;
  options.prefix.snapshot_tokens = 32;
  make(options);
  scene_->serve(some_tokens(1, 150), some_tokens(2, 40));
  settle();
  std::vector<size_t> sizes;
  for (const auto& tokens : tier_.offered) sizes.push_back(tokens.size());
  // Each place where a row was kept: regular ones, the end of the prompt, the end of the answer.
  EXPECT_THAT(sizes, testing::IsSupersetOf({32U, 64U, 128U, 190U}));
  EXPECT_THAT(sizes, testing::Contains(testing::AllOf(testing::Ge(149U), testing::Le(150U))));
}

TEST_F(WriteBehindTest, offers_what_is_evicted_before_it_goes) {
  make();
  tier_.saves_at_once = false;
  const Tokens prompt = some_tokens(1, 60);
  scene_->serve(prompt);
  ASSERT_TRUE(scene_->prefixes().evict_one());
  EXPECT_THAT(tier_.offered, testing::ElementsAre(prompt));
  // Its pages stay until it is saved.
  EXPECT_TRUE(writes_->holds_storage());
  EXPECT_GT(scene_->kv().live_bytes(), 0U);
  tier_.save_waiting();
  EXPECT_FALSE(writes_->holds_storage());
  EXPECT_EQ(scene_->kv().live_bytes(), 0U);
  EXPECT_EQ(writes_->released(), 1U);
  EXPECT_EQ(writes_->lost(), 0U);
}

TEST_F(WriteBehindTest, offers_rows_that_are_too_large_to_be_kept) {
  PrefixScene::Options options = scene_options();
  options.prefix.max_bytes = 1;
  make(options);
  scene_->serve(some_tokens(1, 60));
  EXPECT_THAT(tier_.stored(), SizeIs(1));
  EXPECT_EQ(scene_->prefixes().stats().entries, 0);
}

TEST_F(WriteBehindTest, lets_rows_wait_that_would_hold_too_much) {
  make();
  scene_->serve(some_tokens(1, 64));
  options_.most_saving_bytes = scene_->prefixes().bytes();
  scene_.reset();
  make();
  tier_.saves_at_once = false;
  for (uint32_t i = 0; i < 3; ++i) scene_->serve(some_tokens(i, 64));
  settle();
  EXPECT_THAT(tier_.offered, SizeIs(1));
  ASSERT_TRUE(writes_->next_step());
  EXPECT_LE(*writes_->next_step() - clock_.now(), milliseconds(10));  // it looks again
  // What is evicted meanwhile goes without.
  const Tokens first = tier_.offered[0];
  ASSERT_TRUE(scene_->prefixes().evict_one());  // it is being saved
  EXPECT_EQ(writes_->lost(), 0U);
  ASSERT_TRUE(scene_->prefixes().evict_one());
  EXPECT_EQ(writes_->lost(), 1U);
  tier_.save_waiting();
  step();
  step();
  EXPECT_THAT(tier_.offered, SizeIs(2));
}

TEST_F(WriteBehindTest, tries_again_what_was_dropped_when_all_is_to_be_saved) {
  make();
  tier_.saves_at_once = false;
  scene_->serve(some_tokens(1, 60));
  scene_->serve(some_tokens(2, 60));
  settle();
  ASSERT_THAT(tier_.offered, SizeIs(2));
  tier_.drop_waiting();
  settle();
  EXPECT_THAT(tier_.offered, SizeIs(2));
  EXPECT_EQ(writes_->hastened(), 0);
  tier_.saves_at_once = true;
  scene_->serve(some_tokens(3, 60));
  writes_->hasten();
  EXPECT_EQ(writes_->hastened(), 3);
  scene_->serve(some_tokens(4, 60));
  EXPECT_EQ(writes_->hastened(), 3);  // what comes later is not awaited
  for (int i = 0; i < 3; ++i) step();
  EXPECT_EQ(writes_->hastened(), 0);
  EXPECT_THAT(tier_.stored(), SizeIs(3));
}

TEST_F(WriteBehindTest, offers_again_what_was_not_saved) {
  make();
  tier_.saves_at_once = false;
  scene_->serve(some_tokens(1, 60));
  settle();
  tier_.drop_waiting();
  settle();
  EXPECT_THAT(tier_.offered, SizeIs(1));
  clock_.advance(std::chrono::seconds(30));
  tier_.saves_at_once = true;
  step();
  EXPECT_THAT(tier_.stored(), SizeIs(1));
}

TEST_F(WriteBehindTest, lets_safe_entries_go_first) {
  make();
  tier_.saves_at_once = false;
  for (uint32_t i = 0; i < 4; ++i) scene_->serve(some_tokens(i, 64));
  settle();
  tier_.drop_waiting();
  step();
  tier_.saves_at_once = true;
  // Of four, the second oldest becomes safe.
  scene_->serve(some_tokens(1, 64));
  tier_.offered.clear();
  const auto space = spaces_->of("");
  PrefixCache& prefixes = scene_->prefixes();
  const auto oldest = prefixes.entry(1);
  ASSERT_TRUE(oldest);
  writes_->set_safe(3);
  EXPECT_TRUE(writes_->is_safe(3));
  ASSERT_TRUE(prefixes.evict_one());
  EXPECT_TRUE(prefixes.entry(1));
  EXPECT_FALSE(prefixes.entry(3));
  EXPECT_THAT(tier_.offered, IsEmpty());
  ASSERT_TRUE(prefixes.evict_one());
  EXPECT_FALSE(prefixes.entry(1));
  EXPECT_THAT(tier_.offered, SizeIs(1));
}

TEST_F(WriteBehindTest, goes_on_when_a_tier_takes_nothing) {
  make();
  tier_.declines = true;
  scene_->serve(some_tokens(1, 60));
  settle();
  EXPECT_THAT(tier_.offered, SizeIs(1));
  EXPECT_FALSE(writes_->next_step());
  EXPECT_FALSE(writes_->holds_storage());
  EXPECT_EQ(writes_->lost(), 0U);
}

TEST_F(WriteBehindTest, offers_nothing_to_a_tier_that_is_only_read) {
  make();
  options_.tiers[0].saves = false;
  scene_->serve(some_tokens(1, 60));
  settle();
  while (scene_->prefixes().evict_one()) {
  }
  EXPECT_THAT(tier_.offered, IsEmpty());
  EXPECT_EQ(writes_->lost(), 0U);
}

// The other layouts are copied: what is saved is the row as it was.
TEST_F(WriteBehindTest, saves_rows_of_every_layout) {
  for (const auto layout : {state::LayoutKind::kSlab, state::LayoutKind::kRing, state::LayoutKind::kPadded}) {
    PrefixScene::Options options = scene_options();
    options.kv.layout = layout;
    tier_.forget_all();
    make(options);
    scene_->serve(some_tokens(1, 60));
    settle();
    EXPECT_THAT(tier_.stored(), SizeIs(1));
    EXPECT_EQ(writes_->lost(), 0U);
    scene_.reset();
  }
}

}  // namespace
}  // namespace kvern::engine
