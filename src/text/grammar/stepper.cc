#include "text/grammar/stepper.h"

#include <algorithm>

namespace kvern::text::grammar {
namespace {

/// States looked at for one byte.
constexpr size_t kMaxPending = 1024;
static_assert(kMaxPending < PositionSet::kCapacity && kMaxPositions < PositionSet::kCapacity);

/// As many are searched as fast as a set.
constexpr size_t kFew = 16;

}  // namespace

bool PositionSet::add(const Position& position) {
  if (slots_.empty()) slots_.resize(2 * kCapacity);
  const uint64_t key = uint64_t{position.state} << 32 | static_cast<uint32_t>(position.stack);
  size_t slot = static_cast<size_t>((key * 0x9E3779B97F4A7C15U) >> 32) % slots_.size();
  for (; slots_[slot].round == round_; slot = (slot + 1) % slots_.size()) {
    if (slots_[slot].position == position) return false;
  }
  slots_[slot] = {.position = position, .round = round_};
  ++size_;
  return true;
}

// The set is filled when the list becomes long.
void Stepper::add_once(std::vector<Position>& positions, const Position& position, size_t limit,
                       PositionSet& known) {
  if (positions.size() >= limit) {
    dropped_ = true;
    return;
  }
  if (positions.size() < kFew) {
    if (std::ranges::find(positions, position) == positions.end()) positions.push_back(position);
    return;
  }
  if (known.empty()) {
    for (const Position& each : positions) known.add(each);
  }
  if (known.add(position)) positions.push_back(position);
}

Position Stepper::at(StateId state, StackId stack) const {
  while (automaton_.states[state].only_returns) {
    if (stack == kBottom) return {.state = kReturned, .stack = kBottom};
    const Stacks::Entry& entry = stacks_.at(stack);
    state = entry.state;
    stack = entry.below;
  }
  return {.state = state, .stack = stack};
}

bool Stepper::step(std::span<const Position> from, uint8_t byte, std::vector<Position>& to) {
  to.clear();
  if (from.size() == 1 && from.front().state != kReturned) {
    const Position& position = from.front();
    const Automaton::State& state = automaton_.states[position.state];
    if (!state.accepts && !begins_call(state, byte)) {
      ++work_done_;
      const StateId next = automaton_.next(position.state, byte);
      if (next != kNoState) to.push_back(at(next, position.stack));
      return false;
    }
  }
  return step_all(from, byte, to);
}

bool Stepper::begins_call(const Automaton::State& state, uint8_t byte) const {
  for (uint32_t i = 0; i < state.calls_count; ++i)
    if (automaton_.rules[automaton_.call_edges[state.calls_begin + i].rule].first[byte]) return true;
  return false;
}

bool Stepper::step_all(std::span<const Position> from, uint8_t byte, std::vector<Position>& to) {
  pending_.assign(from.begin(), from.end());
  known_pending_.clear();
  known_next_.clear();
  bool leaves = false;
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Position position = pending_[i];
    if (position.state == kReturned) {
      leaves = true;
      continue;
    }
    const Automaton::State& state = automaton_.states[position.state];
    const StateId next = automaton_.next(position.state, byte);
    if (next != kNoState) add_once(to, at(next, position.stack), kMaxPositions, known_next_);
    for (const auto& call : automaton_.calls_of(position.state)) {
      const Automaton::Rule& rule = automaton_.rules[call.rule];
      if (!rule.first[byte]) continue;
      const Automaton::State& behind = automaton_.states[call.target];
      const StackId stack =
          behind.only_returns ? position.stack : stacks_.push(call.target, position.stack, behind.accepts);
      look_later({.state = rule.start, .stack = stack});
    }
    if (!state.accepts) continue;
    if (position.stack == kBottom)
      leaves = true;
    else
      look_later({.state = stacks_.at(position.stack).state, .stack = stacks_.at(position.stack).below});
  }
  work_done_ += pending_.size();
  return leaves;
}

void Stepper::look_later(Position position) { add_once(pending_, position, kMaxPending, known_pending_); }

}  // namespace kvern::text::grammar
