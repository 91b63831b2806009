// The forward pass of a step, and what gives way when there is no storage for it.
#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "engine/loop/batch.h"

namespace kvern::engine {

void Batch::plan_work() {
  std::vector<PlannableRow> rows;
  rows.reserve(running_.size());
  planned_.clear();
  for (Row* row : running_) {
    if (row->rests) continue;
    planned_.push_back(row);
    if (in_prefill(*row)) {
      rows.push_back({.prompt_tokens = row->pending_tokens(),
                      .most_tokens = storage_.chunk_limit(*row),
                      .turn = row->turn.turn});
    } else {
      rows.push_back({});
    }
  }
  work_.clear();
  const StepBudget budget{.mixed_tokens = options_.mixed_tokens, .chunk_tokens = options_.chunk_tokens};
  for (const RowShare& share : plan(rows, budget)) {
    work_.push_back({.row = planned_[share.row], .tokens = share.tokens});
  }
}

// Logits that nobody reads are not computed.
Engine::Logits Batch::logits_of(const Work& work) const {
  if (!in_prefill(*work.row)) return Engine::Logits::kLast;
  const ServiceRequest& spec = work.row->request->spec;
  if (spec.prompt_logprobs && work.row->held < work.row->prompt_tokens) return Engine::Logits::kAll;
  const bool samples = work.tokens == work.row->pending_tokens() && spec.generate.max_new_tokens > 0;
  return samples ? Engine::Logits::kLast : Engine::Logits::kNone;
}

Result<std::span<float>> Batch::forward() try {
  std::vector<Engine::RowTokens> rows;
  rows.reserve(work_.size());
  for (const Work& work : work_) {
    const Row& row = *work.row;
    rows.push_back(
        {.row = *row.kv,
         .tokens =
             std::span(row.tokens).subspan(static_cast<size_t>(row.held), static_cast<size_t>(work.tokens)),
         .logits = logits_of(work)});
  }
  return engine_.forward(rows);
} catch (const std::bad_alloc&) {
  return std::unexpected(Error{.code = ErrorCode::kExhausted,
                               .message = "there is no memory for the numbers of a step",
                               .where = {},
                               .retryable = true});
} catch (const std::exception& error) {
  return fail(ErrorCode::kInternal, std::string("a step failed: ") + error.what());
}

// The logits of what was computed; nothing when nothing was.
std::optional<std::span<float>> Batch::compute() {
  compacted_ = false;
  while (!work_.empty()) {
    const TimePoint begin = clock_.now();
    const auto logits = forward();
    const double seconds = std::chrono::duration<double>(clock_.now() - begin).count();
    stats_.step_seconds += seconds;
    outside_seconds_ += seconds;
    if (logits) {
      starved_since_.reset();
      return *logits;
    }
    // Whoever stopped it cancels what was asked for.
    if (logits.error().code == ErrorCode::kCancelled) return std::nullopt;
    const bool exhausted = logits.error().code == ErrorCode::kExhausted;
    const Relief relief = exhausted ? relieve() : Relief::kNothingLeft;
    if (relief == Relief::kRetry) continue;
    if (relief == Relief::kLater) return std::nullopt;
    fail_work(logits.error());
  }
  return std::nullopt;
}

// Frees or saves some storage. The oldest row is never moved or left out, so it gets on whatever happens.
Batch::Relief Batch::relieve() {
  if (storage_.evict_prefix() || drop_restored_storage()) return Relief::kRetry;
  if (move_out_newest(MoveRule::kSettled)) return Relief::kRetry;
  if (shorten_work()) return Relief::kRetry;
  if (work_.size() > 1) {
    work_.pop_back();  // the newest waits for a step
    return Relief::kRetry;
  }
  if (move_out_newest(MoveRule::kAny)) return Relief::kRetry;
  if (!std::exchange(compacted_, true) && storage_.compact(*work_.front().row)) return Relief::kRetry;
  if (wait_for_saves()) return Relief::kLater;
  // Choices of the oldest request that do not fit into the budget together.
  return move_out_newest(MoveRule::kAny, OutsideBound::kGivesWay) ? Relief::kRetry : Relief::kNothingLeft;
}

bool Batch::move_out_newest(MoveRule rule, OutsideBound bound) {
  std::vector<MovableRow> rows;
  rows.reserve(running_.size());
  for (const Row* row : running_) rows.push_back({.advanced_tokens = row->advanced_tokens});
  const auto newest = row_to_move_out(rows, rule);
  if (!newest || (bound == OutsideBound::kHolds && !may_leave(*running_[*newest]))) return false;
  move_out(*running_[*newest]);
  return true;
}

void Batch::move_out(Row& row) {
  std::erase_if(work_, [&](const Work& work) { return work.row == &row; });
  std::erase(running_, &row);
  ++releases_;
  if (Status out = storage_.move_out(row); !out) {
    fail_request(*row.request, std::move(out).error());
    // Other choices of the request have ended with it.
    std::erase_if(work_, [](const Work& work) { return work.row->request->done; });
    std::erase_if(running_, [](const Row* other) { return other->request->done; });
    return;
  }
  ++stats_.moved_out;
  insert_outside(row);
}

// Halves the longest chunk of a prompt.
bool Batch::shorten_work() {
  const auto longest = std::ranges::max_element(work_, {}, &Work::tokens);
  if (longest == work_.end() || longest->tokens < 2) return false;
  longest->tokens /= 2;
  return true;
}

// An error of the pass concerns all that took part in it, and nobody else.
void Batch::fail_work(const Error& error) {
  for (const Work& work : work_) {
    if (!work.row->request->done) fail_request(*work.row->request, error);
  }
  work_.clear();
}

}  // namespace kvern::engine
