#include "engine/schedule/plan.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace kvern::engine {
namespace {

constexpr StepBudget kBudget{.mixed_tokens = 32, .chunk_tokens = 512};
constexpr PlannableRow kDecodes{};

PlannableRow prompt(int64_t tokens, int64_t turn = 0) { return {.prompt_tokens = tokens, .turn = turn}; }

struct PlanCase {
  const char* name;
  std::vector<PlannableRow> rows;
  StepPlan expected;
};

class PlanTable : public testing::TestWithParam<PlanCase> {};

TEST_P(PlanTable, is_followed) { EXPECT_EQ(plan(GetParam().rows, kBudget), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(
    Plan, PlanTable,
    testing::Values(
        PlanCase{"nothing", {}, {}}, PlanCase{"one_row_decodes", {kDecodes}, {{0, 1}}},
        PlanCase{"all_rows_decode", {kDecodes, kDecodes, kDecodes}, {{0, 1}, {1, 1}, {2, 1}}},
        PlanCase{"a_short_prompt_in_one_go", {prompt(100)}, {{0, 100}}},
        PlanCase{"a_long_prompt_in_chunks", {prompt(4000)}, {{0, 512}}},
        PlanCase{
            "a_prompt_beside_a_stream_gets_the_mixed_budget", {kDecodes, prompt(4000)}, {{0, 1}, {1, 32}}},
        PlanCase{
            "two_prompts_share_the_mixed_budget", {kDecodes, prompt(4000), prompt(4000)}, {{0, 1}, {1, 32}}},
        PlanCase{
            "the_earlier_turn_comes_first", {kDecodes, prompt(4000, 3), prompt(4000, 2)}, {{0, 1}, {2, 32}}},
        PlanCase{
            "what_is_left_goes_to_the_next", {prompt(500), prompt(300), prompt(300)}, {{0, 500}, {1, 12}}},
        PlanCase{
            "short_prompts_share_a_step", {prompt(10), prompt(20), prompt(30)}, {{0, 10}, {1, 20}, {2, 30}}},
        PlanCase{"a_chunk_ends_where_it_is_wanted",
                 {{.prompt_tokens = 600, .most_tokens = 100}, prompt(1000)},
                 {{0, 100}, {1, 412}}},
        PlanCase{
            "rows_stay_in_their_order", {prompt(20, 1), kDecodes, prompt(20)}, {{0, 12}, {1, 1}, {2, 20}}}),
    [](const auto& info) { return info.param.name; });

TEST(Plan, takes_budgets_below_one_as_one) {
  const std::vector<PlannableRow> rows = {kDecodes, prompt(9)};
  EXPECT_EQ(plan(rows, {.mixed_tokens = 0, .chunk_tokens = 0}), (StepPlan{{0, 1}, {1, 1}}));
}

RC_GTEST_PROP(Plan, keeps_its_budgets_and_leaves_no_stream_out, ()) {
  const auto rows = *rc::gen::container<std::vector<PlannableRow>>(rc::gen::apply(
      [](int64_t tokens, int64_t most, int64_t turn) {
        return PlannableRow{.prompt_tokens = tokens, .most_tokens = most, .turn = turn};
      },
      rc::gen::weightedOneOf<int64_t>(
          {{1, rc::gen::just<int64_t>(0)}, {2, rc::gen::inRange<int64_t>(1, 2000)}}),
      rc::gen::inRange<int64_t>(1, 1000), rc::gen::inRange<int64_t>(0, 5)));
  const StepPlan result = plan(rows, kBudget);
  int64_t streams = 0;
  int64_t planned_streams = 0;
  int64_t prompt_tokens = 0;
  size_t next = 0;
  for (const PlannableRow& row : rows) streams += row.prompt_tokens == 0 ? 1 : 0;
  for (const RowShare& share : result) {
    RC_ASSERT(share.row >= next && share.row < rows.size() && share.tokens > 0);
    next = share.row + 1;
    const PlannableRow& row = rows[share.row];
    if (row.prompt_tokens == 0) {
      RC_ASSERT(share.tokens == 1);
      ++planned_streams;
    } else {
      RC_ASSERT(share.tokens <= std::min(row.prompt_tokens, row.most_tokens));
      prompt_tokens += share.tokens;
    }
  }
  RC_ASSERT(planned_streams == streams);
  RC_ASSERT(prompt_tokens <= (streams > 0 ? kBudget.mixed_tokens : kBudget.chunk_tokens));
  RC_ASSERT(result.empty() == rows.empty());
}

/// Runs prompts beside one stream until all are computed; the step in which each was.
std::vector<int> finishing_steps(std::vector<int64_t> lengths, std::vector<int> arrivals) {
  std::vector<int64_t> left = lengths;
  std::vector<PromptTurn> turns(lengths.size());
  std::vector<int> finished(lengths.size(), -1);
  std::vector<bool> known(lengths.size(), false);
  for (int step = 0; step < 10'000; ++step) {
    std::vector<PlannableRow> rows = {kDecodes};
    std::vector<size_t> who = {0};
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (arrivals[i] > step || left[i] == 0) continue;
      if (!known[i]) turns[i] = PromptTurn::beside(rows);
      known[i] = true;
      rows.push_back(prompt(left[i], turns[i].turn));
      who.push_back(i);
    }
    for (const RowShare& share : plan(rows, kBudget)) {
      if (share.row == 0) continue;
      const size_t i = who[share.row];
      left[i] -= share.tokens;
      turns[i].advance(share.tokens);
      if (left[i] == 0) finished[i] = step;
    }
  }
  return finished;
}

// Case B55: chunks of two long prompts alternate, and a step is no longer with two than with one.
TEST(Plan, B55_two_long_prompts_take_turns_of_the_same_budget) {
  const auto both = finishing_steps({4096, 4096}, {0, 0});
  EXPECT_EQ(both[1], 2 * 4096 / 32 - 1);
  EXPECT_EQ(both[1] - both[0], PromptTurn::kTurnTokens / 32);  // one turn apart, not a whole prompt
}

TEST(Plan, a_short_prompt_does_not_wait_for_the_end_of_a_long_one) {
  const auto steps = finishing_steps({100'000, 200}, {0, 50});
  EXPECT_LE(steps[1], 50 + (2 * PromptTurn::kTurnTokens) / 32);
  EXPECT_GT(steps[0], steps[1]);
}

TEST(Plan, a_stream_of_short_prompts_keeps_no_long_one_waiting_for_ever) {
  // They take half of all steps.
  constexpr int kTurnSteps = PromptTurn::kTurnTokens / kBudget.mixed_tokens;
  std::vector<int64_t> lengths(100, PromptTurn::kTurnTokens);
  std::vector<int> arrivals(100);
  for (size_t i = 0; i < arrivals.size(); ++i) arrivals[i] = static_cast<int>(i) * 2 * kTurnSteps;
  lengths[0] = 8 * PromptTurn::kTurnTokens;
  const auto steps = finishing_steps(lengths, arrivals);
  EXPECT_LE(steps[0], (2 * 8 + 1) * kTurnSteps);
  for (size_t i = 1; i < steps.size(); ++i) EXPECT_LE(steps[i] - arrivals[i], 3 * kTurnSteps);
}

}  // namespace
}  // namespace kvern::engine
