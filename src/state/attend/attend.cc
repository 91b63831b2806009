#include "state/attend/attend.h"

#include "base/check.h"
#include "state/attend/plan.h"
#include "state/attend/unit.h"

namespace kvern::state {

void attend(compute::Context& context, const AttendSource& source, const AttendArgs& args) {
  const int64_t kv_heads = source.geometry().kv_heads;
  KVERN_CHECK(args.heads > 0 && args.heads % kv_heads == 0);
  const UnitAttention attention(context, source, args);
  const AttendPlan plan = plan_attention({.rows = source.rows,
                                          .view = source.view,
                                          .kv_heads = kv_heads,
                                          .group = attention.group(),
                                          .threads = context.pool().threads()});
  // Partial results of all spans of divided units; every one has room for the largest unit.
  const int64_t stride = attention.partial_floats(plan.most_tokens);
  float* partials = nullptr;
  if (plan.partial_spans > 0) {
    const auto floats = static_cast<size_t>(plan.partial_spans * stride);
    partials = reinterpret_cast<float*>(context.shared_scratch().get(floats * sizeof(float)));
  }
  const auto partials_of = [&](const AttendUnit& unit) { return partials + unit.partial_span * stride; };
  context.pool().run(std::ssize(plan.tasks), [&](int64_t i, int thread) {
    const AttendTask& task = plan.tasks[static_cast<size_t>(i)];
    const AttendUnit& unit = plan.units[static_cast<size_t>(task.unit)];
    if (unit.parts == 1) {
      attention.run(unit, context.thread_scratch(thread));
    } else {
      const int64_t offset = task.first_span * attention.partial_floats(unit.tokens());
      attention.run_spans(unit, task, context.thread_scratch(thread), partials_of(unit) + offset);
    }
  });
  if (partials == nullptr) return;
  context.pool().run(std::ssize(plan.units), [&](int64_t i, int thread) {
    const AttendUnit& unit = plan.units[static_cast<size_t>(i)];
    if (unit.parts > 1) attention.finish(unit, context.thread_scratch(thread), partials_of(unit));
  });
}

}  // namespace kvern::state
