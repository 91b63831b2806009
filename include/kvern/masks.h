// Attention masks written out, for backends of your own that attend over dense tensors. KvStep::attend needs
// none of them: there, masks are a consequence of positions.
//
// Notation: N new positions, query i = 0..N-1; o positions before them; W the window (the query at position p
// sees p - W + 1 .. p; 0 = no window); a_b the columns of padding in front of row b; e_b the column behind
// its last position. Pure functions, from any thread. kInvalidArgument: a negative number, or a mask of more
// than 2^32 cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvern/result.h"

namespace kvern {

/// [rows, queries, keys]; 1: the query may see the key in this column.
struct AttentionMask {
  int64_t rows = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  std::vector<uint8_t> allow{};

  bool at(int64_t row, int64_t query, int64_t key) const {
    return allow[static_cast<size_t>((row * queries + query) * keys + key)] != 0;
  }
};

struct CausalMaskShape {
  int64_t queries = 0;  ///< N
  int64_t offset = 0;   ///< o
  int64_t window = 0;   ///< W
};
/// [1, N, o + N]: allow[i][j] = j <= o+i and (W = 0 or o+i < j+W).
Result<AttentionMask> causal_mask(const CausalMaskShape& shape);

/// [1, N, N] for nothing before: causal, or flags[i] and flags[j]: what is flagged sees each other both ways.
Result<AttentionMask> bidirectional_mask(std::span<const bool> flags, int64_t window);

/// A row of a dense tensor before N positions are written at its own end.
struct PaddedMaskRow {
  int64_t pad = 0;  ///< a_b
  int64_t end = 0;  ///< e_b
  /// Columns [pad, head_end) are seen whatever the window; columns [head_end, tail) hold nothing.
  int64_t head_end = 0;
  int64_t tail = 0;
};
/// [B, N, S], S = max e + N, for one or several new positions in each row. Without a head:
/// allow[b][i][j] = a_b <= j <= e_b+i and (W = 0 or e_b+i < j+W).
Result<AttentionMask> padded_mask(std::span<const PaddedMaskRow> rows, int64_t queries, int64_t window);

/// [B, width, width] for prompts of these lengths, padded on the right, nothing before them:
/// allow[b][i][j] = j <= i and j < lengths[b].
Result<AttentionMask> right_padded_mask(std::span<const int64_t> lengths, int64_t width);

/// Rows that share one ring tensor of M columns and write the same column. Single positions go round; a block
/// of several is appended in chronological order.
struct RotatingMaskShape {
  int64_t capacity = 0;         ///< M, at least 1
  int64_t head = 0;             ///< h, the column to write next
  int64_t written = 0;          ///< T, columns written since the rows were merged, their width included
  bool rotated = false;         ///< whether the last write went round
  bool right_padding = false;   ///< whether processed padding still waits on the right of a row
  std::vector<int64_t> pads{};  ///< a_b; below 0 where the ring has passed the padding
  int64_t queries = 0;          ///< N
  int64_t window = 0;           ///< W
};
/// [B, N, S], S = min(M-1, T) + N, in the order of the columns as the write leaves them. With
/// block = (N > 1 or right padding), u = min(M-1, T), hist = block and rotated ? M : h,
/// cut = max(0, hist - M + (block ? 1 : 0)), round = not block and (rotated or h >= M),
/// a'_b = a_b - cut - (round ? 1 : 0): key j in time order is allowed when a'_b <= j <= u+i and u+i < j+W;
/// its column is (j + shift) mod S with shift = round ? (h >= M ? 0 : h) + 1 : 0.
Result<AttentionMask> rotating_mask(const RotatingMaskShape& shape);

}  // namespace kvern
