// One step of a cache: which rows bring how many new tokens. Storage for them is reserved while the step
// lives.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "state/attend/attend.h"
#include "state/ids.h"

namespace kvern::state {

class KvCache;

/// What a caller asks for: `tokens` >= 0 new tokens of a row.
struct RowAppend {
  RowId row{};
  int64_t tokens = 0;
};

/// A row inside a step: its new tokens have positions [first, first + tokens) and are tokens
/// [offset, offset + tokens) of the step's arrays.
struct StepRow {
  RowId row{};
  Position first{};
  int64_t tokens = 0;
  int64_t offset = 0;
};

/// An open transaction on a cache, made by KvCache::begin. Destroying it without commit rolls it back.
/// Belongs to the cache's thread and must not outlive the cache.
class Step {
 public:
  Step(Step&& other) noexcept;
  Step& operator=(Step&&) = delete;
  ~Step();

  /// In the order of the request.
  std::span<const StepRow> rows() const { return rows_; }
  /// Of all rows together.
  int64_t tokens() const { return static_cast<int64_t>(positions_.size()); }
  /// Position of each token in its row, as rope and masks need it: [tokens].
  std::span<const int64_t> positions() const { return positions_; }

 private:
  friend class KvCache;
  Step() = default;
  KvCache* cache_ = nullptr;  // null once committed, rolled back or moved from
  std::vector<StepRow> rows_;
  std::vector<std::vector<AttendRow>> attend_rows_;  // [group][row]
  std::vector<int64_t> positions_;
};

}  // namespace kvern::state
