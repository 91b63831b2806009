#include "state/attend/plan.h"

#include <map>

#include <gtest/gtest.h>

#include "state/attend/tile_kernels.h"

namespace kvern::state {
namespace {

// Every token, head and span of the step is in exactly one task.
void expect_complete(const std::vector<AttendRow>& rows, int64_t kv_heads, const AttendPlan& plan) {
  std::vector<int64_t> next_span(plan.units.size(), 0);
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> by_unit;
  for (const AttendTask& task : plan.tasks) by_unit[{task.unit, task.first_span}].push_back(task.last_span);
  for (const auto& [key, last] : by_unit) {
    ASSERT_EQ(last.size(), 1U);
    auto& next = next_span[static_cast<size_t>(key.first)];
    EXPECT_EQ(key.second, next) << "a gap or an overlap";
    next = last[0];
  }
  int64_t tokens = 0;
  int64_t partial_spans = 0;
  for (size_t i = 0; i < plan.units.size(); ++i) {
    EXPECT_EQ(next_span[i], plan.units[i].spans());
    tokens += plan.units[i].tokens();
    EXPECT_LE(plan.units[i].tokens(), plan.most_tokens);
    if (plan.units[i].parts == 1) continue;
    EXPECT_EQ(plan.units[i].partial_span, partial_spans);
    partial_spans += plan.units[i].spans();
  }
  EXPECT_EQ(partial_spans, plan.partial_spans);
  int64_t expected = 0;
  for (const AttendRow& row : rows) expected += row.tokens;
  EXPECT_EQ(tokens, expected * kv_heads);
}

TEST(AttendPlan, CoversEverythingOnce) {
  const std::vector<std::vector<AttendRow>> steps = {
      {},
      {{.first = 0, .tokens = 0}},
      {{.first = 0, .tokens = 1}},
      {{.first = 8191, .tokens = 1}},
      {{.first = 511, .tokens = 2}, {.first = 0, .tokens = 700}, {.first = 3000, .tokens = 1}},
  };
  for (const auto& rows : steps) {
    for (const int64_t kv_heads : {1, 8}) {
      for (const int64_t group : {1, 4, 200}) {
        for (const int threads : {1, 2, 16}) {
          SCOPED_TRACE(testing::Message()
                       << rows.size() << " rows, " << kv_heads << " x " << group << ", " << threads);
          expect_complete(
              rows, kv_heads,
              plan_attention(
                  {.rows = rows, .view = {}, .kv_heads = kv_heads, .group = group, .threads = threads}));
        }
      }
    }
  }
}

TEST(AttendPlan, DividesALongRowOnlyWhenThreadsWouldBeIdle) {
  const std::vector<AttendRow> row = {{.first = 8191, .tokens = 1}};
  EXPECT_EQ(plan_attention({.rows = row, .view = {}, .kv_heads = 8, .group = 4, .threads = 2}).partial_spans,
            0)
      << "8 heads are enough for 2 threads";
  EXPECT_GT(plan_attention({.rows = row, .view = {}, .kv_heads = 1, .group = 32, .threads = 8}).tasks.size(),
            8U)
      << "1 head is not enough for 8 threads";
  EXPECT_EQ(plan_attention({.rows = row, .view = {}, .kv_heads = 1, .group = 32, .threads = 1}).tasks.size(),
            1U);
}

TEST(AttendPlan, StartsTheLongestTasksFirst) {
  const std::vector<AttendRow> rows = {{.first = 10, .tokens = 1}, {.first = 5000, .tokens = 1}};
  const AttendPlan plan = plan_attention({.rows = rows, .view = {}, .kv_heads = 8, .group = 4, .threads = 2});
  EXPECT_EQ(plan.units[static_cast<size_t>(plan.tasks.front().unit)].row, &rows[1]);
}

}  // namespace
}  // namespace kvern::state
