#include "store/journal/journal_state.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

namespace kvern::store {
namespace {

/// More than any request has, so that a number in a damaged record makes no memory.
constexpr uint32_t kMaxChoices = 1 << 16;

}  // namespace

void JournalState::apply(JournalRecord record) {
  last_run_ = std::max(last_run_, run_of(record));
  std::visit([this](auto& each) { add(std::move(each)); }, record);
}

void JournalState::add(AcceptedRecord record) {
  Run& run = runs_[record.run];
  last_run_ = std::max(last_run_, record.previous);
  if (!run.ended) run.accepted = std::move(record);
}

void JournalState::add(StartedRecord record) { runs_[record.run].cached_tokens = record.cached_tokens; }

void JournalState::add(SampledRecord record) {
  if (record.choice >= kMaxChoices) return;
  Run& run = runs_[record.run];
  if (run.ended) return;
  std::vector<JournalToken>& piece = run.pieces[record.choice][record.first];
  if (piece.size() < record.tokens.size()) piece = std::move(record.tokens);
}

void JournalState::add(EndedRecord record) {
  Run& run = runs_[record.run];
  run.accepted.reset();
  run.pieces.clear();
  run.ended = std::move(record);
}

void JournalState::add(ForgottenRecord record) { runs_[record.run].forgotten = true; }

std::vector<std::vector<JournalToken>> JournalState::joined(const Run& run) {
  std::vector<std::vector<JournalToken>> tokens;
  for (const auto& [choice, pieces] : run.pieces) {
    tokens.resize(choice + 1);
    std::vector<JournalToken>& all = tokens[choice];
    for (const auto& [first, piece] : pieces) {
      if (first > all.size()) break;  // what lay between is lost
      const size_t known = all.size() - first;
      if (known < piece.size())
        all.insert(all.end(), piece.begin() + static_cast<ptrdiff_t>(known), piece.end());
    }
  }
  return tokens;
}

std::vector<JournalledRun> JournalState::live(int64_t now_ms) const {
  std::set<uint64_t> seen;    // wanted for itself
  std::set<uint64_t> needed;  // wanted for others
  const auto need = [&](uint64_t run) {
    while (run != 0 && needed.insert(run).second) {
      const auto found = runs_.find(run);
      if (found == runs_.end() || !found->second.ended) break;
      run = found->second.ended->previous;
    }
  };
  for (const auto& [number, run] : runs_) {
    if (run.forgotten) continue;
    const bool open = run.accepted && !run.ended;
    const bool kept = run.ended && !run.ended->content.empty() && run.ended->expires_ms > now_ms;
    if (!open && !kept) continue;
    seen.insert(number);
    need(open ? run.accepted->previous : run.ended->previous);
  }
  std::vector<JournalledRun> live;
  for (const auto& [number, run] : runs_) {
    const bool hidden = !seen.contains(number);
    if (hidden && !(needed.contains(number) && run.ended && !run.ended->content.empty())) continue;
    live.push_back({.run = number,
                    .accepted = run.accepted,
                    .cached_tokens = run.cached_tokens,
                    .tokens = joined(run),
                    .ended = run.ended,
                    .hidden = hidden});
  }
  return live;
}

}  // namespace kvern::store
