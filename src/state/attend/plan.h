// Cuts the attention of a step into tasks for threads. The cuts never show in the results.
#pragma once

#include <cstdint>
#include <vector>

#include "state/attend/attend.h"

namespace kvern::state {

/// Tokens [begin, end) of a row's new tokens with one key/value head and its query heads.
struct AttendUnit {
  const AttendRow* row = nullptr;
  int64_t kv_head = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t parts = 1;         ///< tasks that share this unit
  int64_t partial_span = 0;  ///< with several parts: index of its first span among the kept partial results

  int64_t tokens() const { return end - begin; }
  int64_t first_position() const { return row->first + begin; }
  int64_t spans() const;
};

/// Spans [first_span, last_span) of a unit.
struct AttendTask {
  int64_t unit = 0;
  int64_t first_span = 0;
  int64_t last_span = 0;
};

struct AttendPlan {
  std::vector<AttendUnit> units;
  std::vector<AttendTask> tasks;  ///< longest first
  int64_t partial_spans = 0;      ///< spans whose results are kept until they are merged
  int64_t most_tokens = 0;        ///< of one unit
};

/// `group` query heads share a key/value head.
AttendPlan plan_attention(std::span<const AttendRow> rows, int64_t kv_heads, int64_t group, int threads);

}  // namespace kvern::state
