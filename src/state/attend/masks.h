// Attention masks written out, as pure functions of numbers: for backends that attend over dense tensors, and
// to test the implicit masks of attend.h against. Ours never reads a mask.
//
// Notation: N new positions, query i = 0..N-1; o positions before them; W the window (the query at position p
// sees p - W + 1 .. p; 0 = no window); a_b the columns of padding in front of row b; e_b the column behind
// its last position.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kvern::state {

/// [rows, queries, keys]; 1 = the query may see the key in this column.
struct AttentionMask {
  int64_t rows = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  std::vector<uint8_t> allow;

  AttentionMask(int64_t b, int64_t n, int64_t s)
      : rows(b), queries(n), keys(s), allow(static_cast<size_t>(b * n * s)) {}
  size_t index(int64_t row, int64_t query, int64_t key) const {
    return static_cast<size_t>((row * queries + query) * keys + key);
  }
  bool at(int64_t row, int64_t query, int64_t key) const { return allow[index(row, query, key)] != 0; }
};

struct CausalShape {
  int64_t queries = 0;  ///< N
  int64_t offset = 0;   ///< o
  int64_t window = 0;   ///< W
};

/// C(N, o, W), [1, N, o + N]: allow[i][j] = j <= o+i and (W = 0 or o+i < j+W).
AttentionMask causal_mask(const CausalShape& shape);

/// C or (flags[i] and flags[j]), [1, N, N], o = 0: what the flags name sees each other in both directions.
AttentionMask bidirectional_mask(std::span<const bool> flags, int64_t window);

/// A row of a dense tensor before N positions are written at its end.
struct PaddedMaskRow {
  int64_t pad = 0;  ///< a_b
  int64_t end = 0;  ///< e_b
  /// Columns [pad, head_end) are seen whatever the window; columns [head_end, tail) hold nothing.
  int64_t head_end = 0;
  int64_t tail = 0;
};

/// For rows that write N positions at their own ends, [B, N, S] with S = max e + N. Without a head:
/// allow[b][i][j] = a_b <= j <= e_b+i and (W = 0 or e_b+i < j+W). Queries of one position need it, too, or a
/// row sees its padding.
AttentionMask padded_mask(std::span<const PaddedMaskRow> rows, int64_t queries, int64_t window);

/// For prompts of these lengths in one rectangle [B, width], padded on the right, nothing before them:
/// [B, width, width], allow[b][i][j] = j <= i and j < lengths[b].
AttentionMask right_padded_mask(std::span<const int64_t> lengths, int64_t width);

/// One row in a ring of M columns: C(N, min(o, M-1), W). A ring that is read in ring order is read by one
/// query, which sees all of it.
AttentionMask rotating_row_mask(const CausalShape& shape, int64_t capacity);

/// Positions of rows that share one ring tensor: all write the same column. A block of several positions is
/// appended in chronological order and may be wider than the ring; single positions go round.
struct RotatingPositions {
  int64_t capacity = 0;  ///< M
  int64_t columns = 0;   ///< of the tensor now
  int64_t head = 0;      ///< h, the column to write next
  int64_t written = 0;   ///< T, columns written since the rows were merged, their width included
  bool rotated = false;
  std::vector<int64_t> offsets;  ///< o_b, the next position of each row
  std::vector<int64_t> pads;     ///< a_b; falls below 0 when the ring has passed the padding
  std::vector<int64_t> ends;     ///< o_b where the row's own positions end and right padding begins; or empty

  int64_t active() const { return rotated ? capacity : head; }
};

/// How an operation changes a tensor: the new column c of row b is from[b * columns + c], counted in the old
/// columns and then in the new positions; kEmptyColumn = zeros.
struct ColumnMoves {
  int64_t columns = 0;
  std::vector<int64_t> from;
};
inline constexpr int64_t kEmptyColumn = -1;

/// A row of `length` positions of which it brings the newest `held` <= capacity.
struct RotatingSource {
  int64_t length = 0;
  int64_t held = 0;
};
/// Rows right-aligned at the width of the longest.
RotatingPositions merge_rotating(int64_t capacity, std::span<const RotatingSource> rows);

/// The mask of the next write of `queries` positions, [B, N, S], S = min(M-1, T) + N, in the order of the
/// columns as the write leaves them. With block = (N > 1 or ends pending), u = min(M-1, T),
/// hist = block and rotated ? M : h, cut = max(0, hist - M + (block ? 1 : 0)),
/// round = not block and (rotated or h >= M), a'_b = a_b - cut - (round ? 1 : 0):
/// key j in time order is allowed when a'_b <= j <= u+i and u+i < j+W; its column is (j + shift) mod S with
/// shift = round ? (h >= M ? 0 : h) + 1 : 0.
AttentionMask rotating_mask(const RotatingPositions& positions, int64_t queries, int64_t window);

/// Writes `tokens` new positions to every row.
ColumnMoves rotating_append(RotatingPositions& positions, int64_t tokens);

/// Announces right-padded input: row b has lengths[b] positions of its own from here on, the rest is padding.
void expect_right_padding(RotatingPositions& positions, std::span<const int64_t> lengths);
/// Moves the padding that was processed, max(0, o_b - end_b) columns, from the right of each row to its left.
ColumnMoves settle_right_padding(RotatingPositions& positions);

/// Right after a block: row b keeps positions up to lengths[b]; the others become padding on its left.
ColumnMoves rotating_rollback(RotatingPositions& positions, std::span<const int64_t> lengths);

/// Rows in this order stay.
void select_rows(RotatingPositions& positions, std::span<const int64_t> rows);

/// Columns of the newest positions of a row in time order, at most `limit` <= M; M - 1 for a row to which a
/// block has brought padding only.
std::vector<int64_t> rotating_columns(const RotatingPositions& positions, int64_t row, int64_t limit);

}  // namespace kvern::state
