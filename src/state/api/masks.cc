#include "kvern/masks.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "base/result.h"
#include "state/attend/masks.h"

namespace kvern {
namespace {

constexpr int64_t kMaxCells = int64_t{1} << 32;

Status check_not_negative(std::initializer_list<int64_t> numbers) {
  for (const int64_t number : numbers) {
    if (number < 0 || number > kMaxCells) {
      return fail(ErrorCode::kInvalidArgument,
                  std::to_string(number) + " is no number of positions or columns of a mask");
    }
  }
  return Ok{};
}

// Each number is at most kMaxCells.
Status check_cells(size_t rows, int64_t queries, int64_t keys) {
  if (rows == 0 || queries == 0 || keys == 0) return Ok{};
  const bool fits = rows <= static_cast<size_t>(kMaxCells) &&
                    queries <= kMaxCells / static_cast<int64_t>(rows) &&
                    keys <= kMaxCells / (static_cast<int64_t>(rows) * queries);
  if (fits) return Ok{};
  return fail(ErrorCode::kInvalidArgument, "a mask of more than 2^32 cells");
}

AttentionMask made(state::AttentionMask mask) {
  return {.rows = mask.rows, .queries = mask.queries, .keys = mask.keys, .allow = std::move(mask.allow)};
}

}  // namespace

Result<AttentionMask> causal_mask(const CausalMaskShape& shape) {
  KVERN_TRY_STATUS(check_not_negative({shape.queries, shape.offset, shape.window}));
  KVERN_TRY_STATUS(check_cells(1, shape.queries, shape.offset + shape.queries));
  return made(state::causal_mask({shape.queries, shape.offset, shape.window}));
}

Result<AttentionMask> bidirectional_mask(std::span<const bool> flags, int64_t window) {
  const auto count = static_cast<int64_t>(flags.size());
  KVERN_TRY_STATUS(check_not_negative({count, window}));
  KVERN_TRY_STATUS(check_cells(1, count, count));
  return made(state::bidirectional_mask(flags, window));
}

Result<AttentionMask> padded_mask(std::span<const PaddedMaskRow> rows, int64_t queries, int64_t window) {
  KVERN_TRY_STATUS(check_not_negative({queries, window}));
  std::vector<state::PaddedMaskRow> inner;
  int64_t end = 0;
  for (const PaddedMaskRow& row : rows) {
    KVERN_TRY_STATUS(check_not_negative({row.pad, row.end, row.head_end, row.tail}));
    inner.push_back({.pad = row.pad, .end = row.end, .head_end = row.head_end, .tail = row.tail});
    end = std::max(end, row.end);
  }
  KVERN_TRY_STATUS(check_cells(rows.size(), queries, end + queries));
  return made(state::padded_mask(inner, queries, window));
}

Result<AttentionMask> right_padded_mask(std::span<const int64_t> lengths, int64_t width) {
  KVERN_TRY_STATUS(check_not_negative({width}));
  for (const int64_t length : lengths) KVERN_TRY_STATUS(check_not_negative({length}));
  KVERN_TRY_STATUS(check_cells(lengths.size(), width, width));
  return made(state::right_padded_mask(lengths, width));
}

Result<AttentionMask> rotating_mask(const RotatingMaskShape& shape) {
  KVERN_TRY_STATUS(
      check_not_negative({shape.capacity, shape.head, shape.written, shape.queries, shape.window}));
  if (shape.capacity == 0)
    return fail(ErrorCode::kInvalidArgument, "a ring has at least one column", "capacity");
  for (const int64_t pad : shape.pads) KVERN_TRY_STATUS(check_not_negative({std::max<int64_t>(pad, 0)}));
  KVERN_TRY_STATUS(check_cells(shape.pads.size(), shape.queries,
                               std::min(shape.capacity - 1, shape.written) + shape.queries));
  state::RotatingPositions positions{.capacity = shape.capacity,
                                     .head = shape.head,
                                     .written = shape.written,
                                     .rotated = shape.rotated,
                                     .offsets = std::vector<int64_t>(shape.pads.size()),
                                     .pads = shape.pads,
                                     .ends = {}};
  if (shape.right_padding) positions.ends = positions.offsets;
  return made(state::rotating_mask(positions, shape.queries, shape.window));
}

}  // namespace kvern
