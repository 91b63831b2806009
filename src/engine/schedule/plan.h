// What the next step computes: a pure function of plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kvern::engine {

/// A running row, as far as planning is concerned.
struct PlannableRow {
  /// Tokens of its prompt that are still to be computed; 0 for a row that decodes: it brings one token.
  int64_t prompt_tokens = 0;
  /// Most of them in one step: a chunk ends where a snapshot is wanted, or where logits would take too much.
  int64_t most_tokens = std::numeric_limits<int64_t>::max();
  /// The turn that it is in: how often it has had its share of prompt tokens, see PromptTurn.
  int64_t turn = 0;
};

/// Most prompt tokens in one step. Decode rows are never limited: there are at most as many as rows.
struct StepBudget {
  /// While some row decodes: bounds what a prompt adds to the time between two tokens of that row.
  int64_t mixed_tokens = 16;
  /// While none does.
  int64_t chunk_tokens = 512;
};

/// So many new tokens of one row.
struct RowShare {
  size_t row = 0;  ///< its index in the rows that were planned
  int64_t tokens = 0;
  bool operator==(const RowShare&) const = default;
};

/// The rows of the step in their order, those without tokens left out.
using StepPlan = std::vector<RowShare>;

/// All rows that decode, one token each, and chunks of prompts up to the budget: first of the prompts in the
/// earliest turn, at a tie of the one that stands first; what it leaves of the budget goes to the next. Never
/// empty unless `rows` is; budgets count as at least 1.
StepPlan plan(std::span<const PlannableRow> rows, const StepBudget& budget);

/// How prompts alternate: each gets kTurnTokens, then the next has its turn. A short prompt is so computed in
/// one go, no prompt waits for the end of a long one, and a stream of new ones keeps nobody waiting for ever,
/// as a newcomer stands behind those that are there. Two long prompts take no more of a step than one.
struct PromptTurn {
  static constexpr int64_t kTurnTokens = 512;
  int64_t turn = 0;
  int64_t tokens = 0;  ///< computed in this turn

  /// The turn of a prompt that begins beside these.
  static PromptTurn beside(std::span<const PlannableRow> rows);
  void advance(int64_t computed_tokens);
};

}  // namespace kvern::engine
