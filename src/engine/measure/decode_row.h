// A row with a context, for timing the steps of one token that follow it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/load/engine.h"

namespace kvern::engine {

/// Rows that are removed when this goes. The engine outlives it.
class DecodeRows {
 public:
  /// `count` rows of `context` tokens each, filled with random keys and values instead of being computed: a
  /// step costs the same.
  static Result<DecodeRows> make(Engine& engine, int64_t count, int64_t context);
  DecodeRows(DecodeRows&& other) noexcept;
  DecodeRows& operator=(DecodeRows&&) = delete;
  ~DecodeRows();

  /// Seconds of one step that brings a token to every row, the mean of `steps`. Works on forks, so every call
  /// starts at the same context, whatever the rows can be cut to.
  Result<double> step_seconds(int steps);
  int64_t count() const { return static_cast<int64_t>(rows_.size()); }

 private:
  explicit DecodeRows(Engine& engine) : engine_(&engine) {}
  Engine* engine_;  // null once moved from
  std::vector<state::RowId> rows_;
};

std::vector<int32_t> random_tokens(int64_t count, int64_t vocabulary);

}  // namespace kvern::engine
