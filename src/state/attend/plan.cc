#include "state/attend/plan.h"

#include <algorithm>

#include "state/attend/tile_kernels.h"
#include "state/planted_fault.h"

namespace kvern::state {
namespace {

// Queries of a unit in a prefill: enough that decoding and transposing a tile costs little beside its use,
// few enough that their scores and sums stay in L2.
constexpr int64_t kBlockQueries = 512;
// Tasks for each thread, so that uneven ones even out.
constexpr int64_t kTasksPerThread = 4;

int64_t cost(const AttendUnit& unit) { return unit.spans() * kSpan * std::max<int64_t>(unit.tokens(), 4); }

AttendUnit make_unit(const PlanInput& input, const AttendRow& row, int64_t kv_head, int64_t begin,
                     int64_t end) {
  AttendUnit unit{.row = &row, .kv_head = kv_head, .begin = begin, .end = end};
  unit.window_span = input.view.window_begin(row.first + begin) / kSpan;
  unit.sink_span = input.view.sinks > 0 && unit.window_span > 0;
  return unit;
}

// Divides the unit into tasks of about `target`.
void divide(AttendPlan& plan, size_t index, int64_t target) {
  AttendUnit& unit = plan.units[index];
  unit.parts = std::clamp<int64_t>(cost(unit) / target, 1, unit.spans());
  if (unit.parts > 1) {
    unit.partial_span = plan.partial_spans;
    plan.partial_spans += unit.spans();
  }
  for (int64_t part = 0; part < unit.parts; ++part) {
    const int64_t missing = planted(Fault::kSpanMissing) && unit.parts > 1 ? 1 : 0;
    plan.tasks.push_back({static_cast<int64_t>(index), unit.spans() * part / unit.parts,
                          unit.spans() * (part + 1) / unit.parts - missing});
  }
}

}  // namespace

int64_t AttendUnit::spans() const {
  const int64_t end_span = (first_position() + tokens() + kSpan - 1) / kSpan;
  return end_span - window_span + (sink_span ? 1 : 0);
}

AttendPlan plan_attention(const PlanInput& input) {
  AttendPlan plan;
  int64_t total = 0;
  const int64_t block = std::max<int64_t>(1, kBlockQueries / input.group);
  for (const AttendRow& row : input.rows) {
    for (int64_t t = 0; t < row.tokens; t += block) {
      for (int64_t head = 0; head < input.kv_heads; ++head) {
        plan.units.push_back(make_unit(input, row, head, t, std::min(row.tokens, t + block)));
        total += cost(plan.units.back());
        plan.most_tokens = std::max(plan.most_tokens, plan.units.back().tokens());
      }
    }
  }
  const int64_t target =
      input.threads == 1 ? total : std::max<int64_t>(1, total / (kTasksPerThread * input.threads));
  for (size_t i = 0; i < plan.units.size(); ++i) divide(plan, i, target);
  std::ranges::stable_sort(plan.tasks, std::ranges::greater{}, [&](const AttendTask& task) {
    const AttendUnit& unit = plan.units[static_cast<size_t>(task.unit)];
    return (task.last_span - task.first_span) * std::max<int64_t>(unit.tokens(), 4);
  });
  return plan;
}

}  // namespace kvern::state
