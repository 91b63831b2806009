// Groups of sixteen weight rows, the width in which block-quantized kernels work.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "compute/kernels/weights/unit.h"
#include "compute/tensor/weight.h"

namespace kvern::compute::internal {

inline constexpr int64_t kGroupRows = 16;

/// Sixteen rows at a fixed distance. Borrowed bytes.
struct RowGroup {
  const uint8_t* data = nullptr;
  size_t stride = 0;
  int64_t first_row = 0;  ///< the matrix row of lane 0
  int skip = 0;           ///< lanes below it belong to another group and must not be stored
  int end = kGroupRows;   ///< lanes from it on are padding

  weights::RowSource row(int lane) const { return {.data = data + static_cast<size_t>(lane) * stride}; }
};

inline RowGroup group_at(const WeightMatrix& matrix, int64_t first_row) {
  return {.data = weights::row_source(matrix, first_row).data,
          .stride = matrix.row_stride_bytes,
          .first_row = first_row};
}

/// Bytes of the copy that row_group makes of a matrix of fewer than sixteen rows; 0 for others.
inline size_t staging_bytes(const WeightMatrix& matrix) {
  if (matrix.rows >= kGroupRows) return 0;
  return static_cast<size_t>(kGroupRows) * row_bytes(matrix.type, matrix.cols);
}

/// Sixteen rows made of all rows of a smaller matrix, the lanes beyond them zero.
inline RowGroup staged_group(const WeightMatrix& matrix, std::byte* staging) {
  RowGroup group = group_at(matrix, 0);
  std::memset(staging, 0, staging_bytes(matrix));
  const size_t bytes = row_bytes(matrix.type, matrix.cols);
  const auto rows = static_cast<size_t>(matrix.rows);
  auto* copy = reinterpret_cast<uint8_t*>(staging);
  for (size_t r = 0; r < rows; ++r) std::memcpy(copy + r * bytes, group.data + r * group.stride, bytes);
  group.data = copy;
  group.stride = bytes;
  group.end = static_cast<int>(matrix.rows);
  return group;
}

/// The group that begins at `first_row`. At the end of a matrix it is moved up, so that it has sixteen rows,
/// and its first lanes are skipped.
inline RowGroup row_group(const WeightMatrix& matrix, int64_t first_row, std::byte* staging) {
  if (matrix.rows < kGroupRows) return staged_group(matrix, staging);
  const int64_t moved = std::min(first_row, matrix.rows - kGroupRows);
  RowGroup group = group_at(matrix, moved);
  group.skip = static_cast<int>(first_row - moved);
  return group;
}

/// Sixteen rows `distance` rows apart, lane l being row first_row + l * distance: sixteen long streams, each
/// of which goes on with the next row when the group moves down by one.
inline RowGroup distant_group(const WeightMatrix& matrix, int64_t first_row, int64_t distance) {
  RowGroup group = group_at(matrix, first_row);
  group.stride *= static_cast<size_t>(distance);
  return group;
}

/// Fetches ahead of a kernel that reads groups of rows, a little at each of its steps, into the second-level
/// cache: what is fetched does not fit the first (measured on Zen 4: twice the bandwidth).
///
/// `panel`: the bytes of the next panel.
/// `lanes`: a fixed distance ahead in each of several long streams.
class Prefetch {
 public:
  /// Streams at a fixed distance, read side by side. The first ends at `end`, the others as much later as
  /// they begin.
  struct Lanes {
    const uint8_t* data = nullptr;  ///< where the first one is read next
    const uint8_t* end = nullptr;
    size_t stride = 0;
    size_t count = 0;
    size_t step_bytes = 0;  ///< that a step reads of each
  };

  Prefetch() = default;

  /// Bytes [begin, end), spread evenly over `steps` steps.
  static Prefetch panel(const uint8_t* begin, const uint8_t* end, int64_t steps) {
    const int64_t each = ((end - begin) / static_cast<int64_t>(kPanelStreams) + 63) / 64 * 64;
    Prefetch prefetch;
    prefetch.next_ = begin;
    prefetch.end_ = begin + each;
    prefetch.stride_ = static_cast<size_t>(each);
    prefetch.lines_ = static_cast<int>(((end - begin) / 64 + steps) / steps);
    return prefetch;
  }

  static Prefetch lanes(const Lanes& lanes) {
    Prefetch prefetch;
    prefetch.next_ = lanes.data + kAheadBytes;
    prefetch.end_ = lanes.end;
    prefetch.stride_ = lanes.stride;
    prefetch.count_ = lanes.count;
    prefetch.step_bytes_ = lanes.step_bytes;
    return prefetch;
  }

  void step() {
    if (count_ != 0) return step_lanes();
    for (int i = 0; i < lines_ && next_ < end_; ++i) {
      __builtin_prefetch(next_ + turn_ * stride_, 0, 2);
      turn_ = (turn_ + 1) % kPanelStreams;
      if (turn_ == 0) next_ += 64;
    }
  }

 private:
  // Measured with 4 and 16 streams a thread: 512 bytes and 4 KiB are slower.
  static constexpr size_t kAheadBytes = 1024;
  // A panel is fetched from so many places in turns: processors that follow one stream a page of memory
  // follow several at a time.
  static constexpr size_t kPanelStreams = 4;

  void step_lanes() {
    const auto line_of = [](const uint8_t* p) { return reinterpret_cast<uintptr_t>(p) / 64; };
    const uint8_t* const after = next_ + step_bytes_;
    for (auto lines = line_of(after) - line_of(next_); lines != 0 && next_ < end_; --lines) {
      next_ += 64;
      for (size_t lane = 0; lane < count_; ++lane) __builtin_prefetch(next_ + lane * stride_, 0, 2);
    }
    next_ = after;
  }

  const uint8_t* next_ = nullptr;
  const uint8_t* end_ = nullptr;
  int lines_ = 0;  ///< per step of panel()
  size_t turn_ = 0;
  size_t stride_ = 0;
  size_t count_ = 0;
  size_t step_bytes_ = 0;
};

}  // namespace kvern::compute::internal
