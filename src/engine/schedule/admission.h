// Who may be in the batch, by bytes: pure functions of plain numbers. The numbers of one row come from the
// functions that `kvern fit` uses (KvCache::peak_bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace kvern::engine {

/// Bytes of a row that shares nothing.
struct Projection {
  /// The most that it takes while it grows from so many tokens to so many; of two equal numbers, what it
  /// holds.
  std::function<size_t(int64_t first, int64_t end)> peak;
  /// From so many tokens on it is encoded, and shares nothing with rows forked from it before.
  int64_t quant_start = 0;
};

/// What a request may come to need.
struct Demand {
  int64_t prompt_tokens = 0;
  int64_t max_new_tokens = 0;
  int64_t context_tokens = 0;  ///< no row is longer
  int32_t choices = 1;
};

/// Tokens of each row at its end: the last token is sampled and never computed.
int64_t final_tokens(const Demand& demand);

/// The most that a row which grows to `end` tokens takes beside one with which it shares the first `shared`.
size_t own_bytes(const Projection& projection, int64_t shared, int64_t end);

/// The least storage in which all rows of the request can get to their ends: what is beyond the prompt
/// belongs to each choice, the prompt they may share. A request that needs more than the budget alone can
/// never run as asked; one that needs no more only waits.
size_t least_bytes(const Projection& projection, const Demand& demand);

/// The largest max_new_tokens with which the demand fits `budget_bytes`; nothing when not even the prompt
/// does.
std::optional<int64_t> most_new_tokens(const Projection& projection, Demand demand, size_t budget_bytes);

/// Bytes of a batch at one moment.
struct MemoryView {
  size_t budget_bytes = 0;  ///< 0 = no limit
  size_t live_bytes = 0;    ///< of running rows and kept prefixes
  size_t kept_bytes = 0;    ///< of these, what removing all kept prefixes would free
  size_t growth_bytes = 0;  ///< what running rows are about to take, in their next kHeadroomTokens at least
};

/// Every row in the batch can grow by so many tokens before another has to leave for it, as long as
/// projections are right: more than kTokensBetweenMoves, so that a row that came in gets that far.
inline constexpr int64_t kHeadroomTokens = 32;

enum class Room : uint8_t {
  kFree,           ///< it fits
  kAfterPrefixes,  ///< it fits when kept prefixes go
  kNone,           ///< it has to wait
};
Room room_for(size_t bytes, const MemoryView& memory);

/// A request that has rows in the batch or outside, or one that asks to join them.
struct Standing {
  /// What its rows would take outside, with all that they hold and may come to hold before the next look.
  size_t outside_bytes = 0;
  /// What it takes of the budget when nothing else is there, up to its end, at most.
  size_t final_bytes = 0;
};

/// Whether all of them, oldest first, come to their ends one after the other, whatever they turn out to need,
/// with at most `outside_limit` bytes outside: of each one, those that are younger all fit outside, or beside
/// its end. While that holds, the oldest can always get on, and nothing has to be given up for it.
bool all_can_end(std::span<const Standing> requests, size_t budget_bytes, size_t outside_limit);

/// A row that came back is left alone for so many tokens (case B53: rows that move at every step).
inline constexpr int64_t kTokensBetweenMoves = 16;

struct MovableRow {
  /// Tokens computed since it came back; kTokensBetweenMoves or more for one that never was outside.
  int64_t advanced_tokens = kTokensBetweenMoves;
};

enum class MoveRule : uint8_t {
  kSettled,  ///< only rows that have advanced kTokensBetweenMoves
  kAny,      ///< any row: nothing else is left
};

/// Of the rows in the order of their age, oldest first, the one to move out: the newest that the rule lets
/// go, never the oldest (so somebody always gets on). Nothing when there is none.
std::optional<size_t> row_to_move_out(std::span<const MovableRow> rows, MoveRule rule);

}  // namespace kvern::engine
