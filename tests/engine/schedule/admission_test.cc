#include "engine/schedule/admission.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace kvern::engine {
namespace {

/// Pages of 16 tokens, 100 bytes each.
const Projection paged{
    .peak = [](int64_t /*first*/, int64_t end) { return static_cast<size_t>((end + 15) / 16) * 100; }};

TEST(Demand, ends_at_the_last_token_that_is_computed) {
  EXPECT_EQ(final_tokens({.prompt_tokens = 10, .max_new_tokens = 0, .context_tokens = 100}), 10);
  EXPECT_EQ(final_tokens({.prompt_tokens = 10, .max_new_tokens = 1, .context_tokens = 100}), 10);
  EXPECT_EQ(final_tokens({.prompt_tokens = 10, .max_new_tokens = 5, .context_tokens = 100}), 14);
  EXPECT_EQ(final_tokens({.prompt_tokens = 10, .max_new_tokens = 1'000'000, .context_tokens = 100}), 100);
  EXPECT_EQ(final_tokens({.prompt_tokens = 100, .max_new_tokens = 5, .context_tokens = 100}), 100);
}

TEST(Demand, of_choices_shares_the_prompt) {
  const Demand one{.prompt_tokens = 32, .max_new_tokens = 33, .context_tokens = 1000};
  EXPECT_EQ(least_bytes(paged, one), 400U);
  Demand three = one;
  three.choices = 3;
  EXPECT_EQ(least_bytes(paged, three), 200U + 3 * 200);
}

TEST(Demand, that_no_number_can_say_is_the_largest) {
  const Projection huge{
      .peak = [](int64_t /*first*/, int64_t end) { return end > 5 ? SIZE_MAX / 2 : size_t{0}; }};
  EXPECT_EQ(least_bytes(huge, {.prompt_tokens = 5, .max_new_tokens = 50, .context_tokens = 99, .choices = 9}),
            SIZE_MAX);
}

TEST(Demand, says_how_many_tokens_would_fit) {
  const Demand demand{.prompt_tokens = 20, .max_new_tokens = 500, .context_tokens = 1000};
  const auto most = most_new_tokens(paged, demand, 400);
  ASSERT_TRUE(most.has_value());
  Demand other = demand;
  other.max_new_tokens = *most;
  EXPECT_LE(least_bytes(paged, other), 400U);
  other.max_new_tokens = *most + 1;
  EXPECT_GT(least_bytes(paged, other), 400U);
  EXPECT_EQ(most_new_tokens(paged, demand, 1'000'000), 500);
  EXPECT_FALSE(most_new_tokens(paged, demand, 199).has_value());
}

// A token takes 6 bytes until there are 100 of them, then 1; while they are encoded, both.
TEST(Demand, of_rows_that_are_encoded_later_is_what_they_take_on_the_way) {
  const auto held = [](int64_t n) { return static_cast<size_t>(n < 100 ? 6 * n : n); };
  const Projection encoded_later{.peak =
                                     [&](int64_t first, int64_t end) {
                                       size_t most = held(first);
                                       for (int64_t n = first + 1; n <= end; ++n)
                                         most = std::max(most, n == 100 ? 6U * 100 + 100 : held(n));
                                       return most;
                                     },
                                 .quant_start = 100};
  Demand demand{.prompt_tokens = 80, .max_new_tokens = 11, .context_tokens = 1000};
  EXPECT_EQ(least_bytes(encoded_later, demand), 90U * 6);
  demand.max_new_tokens = 21;
  EXPECT_EQ(least_bytes(encoded_later, demand), 700U);
  demand.max_new_tokens = 601;
  EXPECT_EQ(least_bytes(encoded_later, demand), 700U);
  EXPECT_EQ(most_new_tokens(encoded_later, demand, 699), 20);
  EXPECT_EQ(most_new_tokens(encoded_later, demand, 700), 601);
  // The prompt is shared as long as it is not encoded.
  EXPECT_EQ(own_bytes(encoded_later, 80, 90), 60U);
  EXPECT_EQ(own_bytes(encoded_later, 80, 100), 220U);
  EXPECT_EQ(own_bytes(encoded_later, 80, 680), 680U);
  EXPECT_EQ(own_bytes(encoded_later, 120, 680), 560U);
}

TEST(Room, is_what_the_budget_leaves_beside_live_bytes_and_growth) {
  const MemoryView memory{.budget_bytes = 1000, .live_bytes = 600, .kept_bytes = 300, .growth_bytes = 100};
  EXPECT_EQ(room_for(300, memory), Room::kFree);
  EXPECT_EQ(room_for(301, memory), Room::kAfterPrefixes);
  EXPECT_EQ(room_for(600, memory), Room::kAfterPrefixes);
  EXPECT_EQ(room_for(601, memory), Room::kNone);
  EXPECT_EQ(room_for(SIZE_MAX, memory), Room::kNone);
  EXPECT_EQ(room_for(SIZE_MAX, {.budget_bytes = 0, .live_bytes = 5}), Room::kFree);
}

TEST(AllCanEnd, is_true_when_the_younger_fit_outside_or_beside_each_end) {
  const auto can = [](std::vector<Standing> requests, size_t limit) {
    return all_can_end(requests, 100, limit);
  };
  EXPECT_TRUE(can({}, 0));
  EXPECT_TRUE(can({{.outside_bytes = 70, .final_bytes = 100}}, 0)) << "one alone always can";
  EXPECT_TRUE(can({{.outside_bytes = 10, .final_bytes = 60}, {.outside_bytes = 40, .final_bytes = 90}}, 0));
  EXPECT_FALSE(can({{.outside_bytes = 10, .final_bytes = 61}, {.outside_bytes = 40, .final_bytes = 90}}, 0));
  EXPECT_FALSE(can({{.outside_bytes = 10, .final_bytes = 61}, {.outside_bytes = 40, .final_bytes = 90}}, 39));
  EXPECT_TRUE(can({{.outside_bytes = 10, .final_bytes = 61}, {.outside_bytes = 40, .final_bytes = 90}}, 40));
  // The oldest ends without any move, but then the next one finds no room for its end.
  EXPECT_FALSE(can({{.outside_bytes = 1, .final_bytes = 10},
                    {.outside_bytes = 45, .final_bytes = 100},
                    {.outside_bytes = 45, .final_bytes = 50}},
                   44));
  EXPECT_TRUE(can({{.outside_bytes = 1, .final_bytes = 10},
                   {.outside_bytes = 45, .final_bytes = 100},
                   {.outside_bytes = 45, .final_bytes = 50}},
                  45));
  EXPECT_FALSE(can({{.outside_bytes = SIZE_MAX, .final_bytes = 1},
                    {.outside_bytes = SIZE_MAX, .final_bytes = 1},
                    {.outside_bytes = SIZE_MAX, .final_bytes = 1}},
                   100))
      << "sums do not wrap";
}

// The promise, by playing it: the oldest takes what it may need, and for that the newest leave.
RC_GTEST_PROP(AllCanEnd, means_that_they_do_with_no_more_outside, ()) {
  const auto size = *rc::gen::inRange<size_t>(1, 8);
  const auto limit = *rc::gen::inRange<size_t>(0, 150);
  std::vector<Standing> requests;
  for (size_t i = 0; i < size; ++i) {
    const auto final_bytes = *rc::gen::inRange<size_t>(1, 101);
    requests.push_back(
        {.outside_bytes = *rc::gen::inRange<size_t>(0, final_bytes + 1), .final_bytes = final_bytes});
  }
  RC_PRE(all_can_end(requests, 100, limit));
  for (size_t oldest = 0; oldest < size; ++oldest) {
    size_t inside = requests[oldest].final_bytes;
    size_t outside = 0;
    for (size_t i = oldest + 1; i < size; ++i) inside += requests[i].outside_bytes;
    for (size_t newest = size; newest-- > oldest + 1 && inside > 100;) {
      inside -= requests[newest].outside_bytes;
      outside += requests[newest].outside_bytes;
    }
    RC_ASSERT(inside <= 100);
    RC_ASSERT(outside <= limit);
  }
}

TEST(Move, takes_the_newest_row_but_never_the_oldest) {
  const std::vector<MovableRow> rows(4);
  EXPECT_EQ(row_to_move_out(rows, MoveRule::kSettled), 3U);
  EXPECT_FALSE(row_to_move_out(std::vector<MovableRow>(1), MoveRule::kAny).has_value());
  EXPECT_FALSE(row_to_move_out({}, MoveRule::kAny).has_value());
}

// Case B53: rows that go out and come back at every step.
TEST(Move, B53_leaves_a_row_alone_that_has_just_come_back) {
  std::vector<MovableRow> rows(3);
  rows[2].advanced_tokens = kTokensBetweenMoves - 1;
  EXPECT_EQ(row_to_move_out(rows, MoveRule::kSettled), 1U);
  rows[1].advanced_tokens = 0;
  EXPECT_FALSE(row_to_move_out(rows, MoveRule::kSettled).has_value());
  EXPECT_EQ(row_to_move_out(rows, MoveRule::kAny), 2U);
  rows[2].advanced_tokens = kTokensBetweenMoves;
  EXPECT_EQ(row_to_move_out(rows, MoveRule::kSettled), 2U);
  EXPECT_GE(kHeadroomTokens, kTokensBetweenMoves);
}

}  // namespace
}  // namespace kvern::engine
