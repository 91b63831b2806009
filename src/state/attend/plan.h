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
  int64_t window_span = 0;   ///< span where the window of the first token begins
  bool sink_span = false;    ///< span 0 is seen too, though the window begins in a later one

  int64_t tokens() const { return end - begin; }
  int64_t first_position() const { return row->first + begin; }
  /// Spans of which any token sees something, and the i-th of them.
  int64_t spans() const;
  int64_t span(int64_t i) const { return sink_span ? (i == 0 ? 0 : window_span + i - 1) : window_span + i; }
};

/// The unit's spans first_span… last_span - 1, counted as AttendUnit::span does.
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

struct PlanInput {
  std::span<const AttendRow> rows;
  KvView view;
  int64_t kv_heads = 0;
  int64_t group = 0;  ///< query heads that share a key/value head
  int threads = 1;
};

AttendPlan plan_attention(const PlanInput& input);

}  // namespace kvern::state
