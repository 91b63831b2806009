#include "text/grammar/simple_steps.h"

#include <algorithm>
#include <utility>

namespace kvern::text::grammar {
namespace {

/// Calls `each(target)` for the targets of all bytes of the range, until it says no. False also where a byte
/// has none.
template <typename Each>
bool all_targets(const Automaton& automaton, StateId from, std::pair<uint8_t, uint8_t> bytes,
                 const Each& each) {
  uint32_t next = bytes.first;
  for (const auto& edge : automaton.bytes_of(from)) {
    if (edge.last < next) continue;
    if (edge.first > next || !each(edge.target)) return false;
    next = edge.last + 1U;
    if (next > bytes.second) return true;
  }
  return false;
}

}  // namespace

const SimpleSteps::Known* SimpleSteps::know(StateId state) {
  if (state == kReturned) return not_simple();
  std::unique_ptr<Known>& known = known_[state];
  if (!known) {
    known = std::make_unique<Known>();
    known->id = state;
    known->live = automaton_.states[state].live;
    if (known->live) find_plain(*known);
  }
  return known.get();
}

bool SimpleSteps::begins_call(StateId state, uint8_t byte) const {
  return std::ranges::any_of(automaton_.calls_of(state),
                             [&](const auto& call) { return automaton_.rules[call.rule].first[byte]; });
}

const SimpleSteps::Known* SimpleSteps::find_step(const Known& from, uint8_t byte) {
  const Known* found = not_simple();
  if (!automaton_.states[from.id].accepts && !begins_call(from.id, byte)) {
    const StateId next = automaton_.next(from.id, byte);
    // At the end of the rule there is nothing more to be read, which is not simple.
    found = next == kNoState ? nowhere() : know(stepper_.at(next, kBottom).state);
  }
  if (!from.next) from.next = std::make_unique<std::array<const Known*, 256>>();
  (*from.next)[byte] = found;
  return found;
}

// The rule may end on the way, or others may be called: what may come anyway needs no other reason.
void SimpleSteps::find_plain(Known& known) const {
  const StateId target = usual_target(known.id);
  if (target == kNoState || automaton_.states[target].only_returns || !automaton_.states[target].live) return;
  ByteSet others = ByteSet().set();
  for (const auto& edge : automaton_.bytes_of(known.id)) {
    if (edge.target != target) continue;
    for (uint32_t byte = edge.first; byte <= edge.last; ++byte) others.reset(byte);
  }
  known.plain = kinds_without(others);
  if (takes_characters(known.id, target)) known.plain |= kCharacters;
  known.plain_target = target;
}

/// Where most bytes of ASCII lead.
StateId SimpleSteps::usual_target(StateId state) const {
  constexpr uint8_t kFirstBeyondAscii = 0x80;
  StateId best = kNoState;
  uint32_t most = 0;
  for (const auto& edge : automaton_.bytes_of(state)) {
    const uint32_t count = edge.last - edge.first + 1U;
    if (edge.first >= kFirstBeyondAscii || count <= most) continue;
    most = count;
    best = edge.target;
  }
  return best;
}

/// Whether all characters beyond ASCII lead there.
bool SimpleSteps::takes_characters(StateId from, StateId to) const {
  return std::ranges::all_of(utf8_beginnings(), [&](const Utf8Beginning& beginning) {
    return all_targets(automaton_, from, beginning.lead, [&](StateId behind) {
      return takes_rest(behind, beginning.second, beginning.more, to);
    });
  });
}

bool SimpleSteps::takes_rest(StateId from, std::pair<uint8_t, uint8_t> bytes, int more, StateId to) const {
  if (!automaton_.states[from].live) return false;
  return all_targets(automaton_, from, bytes, [&](StateId behind) {
    return more == 0 ? behind == to : takes_rest(behind, kContinuation, more - 1, to);
  });
}

uint32_t SimpleSteps::find_run(const Known& from, uint32_t wanted) {
  if (from.plain_run_ends) return from.plain_run;
  const Known* at = &from;
  uint32_t run = 0;
  while (run < wanted && !from.plain_run_ends) {
    const Known* behind = know(at->plain_target);
    ++run;
    if (behind == at) run = UINT32_MAX;
    // A state without a plain target has no plain kinds.
    from.plain_run_ends = (from.plain & ~behind->plain) != 0;
    at = behind;
  }
  from.plain_run = run;
  return run;
}

}  // namespace kvern::text::grammar
