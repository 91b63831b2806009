#include "engine/tiers/tiers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/prefix/prefix_scene.h"
#include "engine/support/fake_tier.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using test::FakeTier;
using test::joined;
using test::PrefixScene;
using test::some_tokens;
using testing::ElementsAre;
using testing::IsEmpty;

class TiersTest : public testing::Test {
 protected:
  TiersTest() {
    tiers_.prefixes().observe(&saved_.writes());
    tiers_.serve(some_tokens(1, 100));
    saved_.writes().hasten();
    saved_.writes().step(clock_.now());
  }
  TierOptions options(FakeTier& near, FakeTier& far) {
    return {.tiers = {{.tier = &near}, {.tier = &far, .restore_timeout = std::chrono::seconds(1)}},
            .identity = {.cache = "a cache\n"},
            .identity_holds = [this] { return holds_; }};
  }

  bool holds_ = true;
  ManualClock clock_{{}};
  FakeTier near_;
  FakeTier far_;
  PrefixScene tiers_{PrefixScene::Options{.kv = {.layout = state::LayoutKind::kPaged, .page = 16}}};
  Tiers saved_{{.kv = tiers_.kv(), .prefixes = tiers_.prefixes(), .clock = clock_}, options(near_, far_)};
  ~TiersTest() override {
    while (tiers_.prefixes().evict_one()) {
    }
    tiers_.prefixes().observe(nullptr);
  }
};

TEST_F(TiersTest, ask_the_nearest_first_and_the_others_for_more) {
  const auto prompt = joined(some_tokens(1, 100), some_tokens(2, 80));
  const auto restore = saved_.find("", prompt, 10);
  ASSERT_NE(restore, nullptr);
  EXPECT_EQ(restore->tier(), 0U);
  EXPECT_THAT(restore->tokens(), testing::SizeIs(100));
  EXPECT_THAT(near_.lookups, ElementsAre(41));
  EXPECT_THAT(far_.lookups, ElementsAre(131));
}

TEST_F(TiersTest, do_not_ask_where_nothing_can_be_gained) {
  const auto prompt = some_tokens(1, 100);
  EXPECT_EQ(saved_.find("", prompt, 68), nullptr);
  EXPECT_THAT(near_.lookups, IsEmpty());
  EXPECT_NE(saved_.find("", prompt, 67), nullptr);
  EXPECT_THAT(far_.lookups, IsEmpty());  // the near one gives all but 32
}

TEST_F(TiersTest, find_nothing_once_the_identity_does_not_hold) {
  holds_ = false;
  EXPECT_EQ(saved_.find("", some_tokens(1, 100), 0), nullptr);
  EXPECT_THAT(near_.lookups, IsEmpty());
}

TEST_F(TiersTest, find_nothing_of_another_namespace) {
  EXPECT_EQ(saved_.find("other", some_tokens(1, 100), 0), nullptr);
}

TEST_F(TiersTest, take_from_the_farther_one_what_the_nearer_has_lost) {
  near_.forget_all();
  const auto restore = saved_.find("", some_tokens(1, 100), 0);
  ASSERT_NE(restore, nullptr);
  EXPECT_EQ(restore->tier(), 1U);
  EXPECT_EQ(restore->step(SIZE_MAX, clock_.now()), PrefixRestore::Progress::kOver);
  const auto row = restore->finish();
  ASSERT_TRUE(row);
  EXPECT_EQ(row->tokens, 99);
  saved_.count(*restore, row->tokens);
  EXPECT_EQ(saved_.restores()[1].tokens, 99U);
  EXPECT_EQ(saved_.restores()[1].cut_short, 0U);
  EXPECT_EQ(saved_.restores()[0].restores, 0U);
  ASSERT_OK(tiers_.kv().remove_row(row->row));
}

TEST_F(TiersTest, give_each_its_own_time) {
  near_.forget_all();
  far_.arriving = 2;
  const auto restore = saved_.find("", some_tokens(1, 100), 0);
  EXPECT_EQ(restore->step(SIZE_MAX, clock_.now()), PrefixRestore::Progress::kGoesOn);
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(restore->step(SIZE_MAX, clock_.now()), PrefixRestore::Progress::kOver);
  const auto row = restore->finish();
  ASSERT_TRUE(row);
  EXPECT_EQ(row->tokens, 32);
  saved_.count(*restore, row->tokens);
  EXPECT_EQ(saved_.restores()[1].cut_short, 1U);
  ASSERT_OK(tiers_.kv().remove_row(row->row));
}

}  // namespace
}  // namespace kvern::engine
