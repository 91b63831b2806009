#include "engine/schedule/plan.h"

#include <algorithm>

namespace kvern::engine {

StepPlan plan(std::span<const PlannableRow> rows, const StepBudget& budget) {
  std::vector<int64_t> tokens(rows.size(), 0);
  std::vector<size_t> prompts;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].prompt_tokens > 0) {
      prompts.push_back(i);
    } else {
      tokens[i] = 1;
    }
  }
  std::ranges::stable_sort(prompts, {}, [&](size_t i) { return rows[i].turn; });
  const bool mixed = prompts.size() < rows.size();
  int64_t left = std::max<int64_t>(1, mixed ? budget.mixed_tokens : budget.chunk_tokens);
  for (const size_t i : prompts) {
    tokens[i] = std::min({left, rows[i].prompt_tokens, std::max<int64_t>(1, rows[i].most_tokens)});
    left -= tokens[i];
    if (left == 0) break;
  }
  StepPlan result;
  result.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (tokens[i] > 0) result.push_back({.row = i, .tokens = tokens[i]});
  }
  return result;
}

PromptTurn PromptTurn::beside(std::span<const PlannableRow> rows) {
  int64_t last = 0;
  for (const PlannableRow& row : rows) {
    if (row.prompt_tokens > 0) last = std::max(last, row.turn);
  }
  return {.turn = last};
}

void PromptTurn::advance(int64_t computed_tokens) {
  tokens += computed_tokens;
  turn += tokens / kTurnTokens;
  tokens %= kTurnTokens;
}

}  // namespace kvern::engine
