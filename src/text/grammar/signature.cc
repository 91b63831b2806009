#include <cstddef>

#include "text/grammar/automaton_parts.h"
#include "text/grammar/description.h"

namespace kvern::text::grammar {
// Round n tells states apart by texts of n bytes. A byte leads to a state of round n - 1. A rule called takes
// at least a byte before it returns, so the state behind it counts in round n - 1 too, while its start counts
// in round n: it is computed before, in the order of first calls.
void fill_signatures(Automaton& automaton, const std::vector<uint32_t>& order) {
  const size_t count = automaton.states.size();
  std::vector<StateId> sequence;
  std::vector<bool> is_start(count, false);
  for (const uint32_t rule : order) {
    sequence.push_back(automaton.rules[rule].start);
    is_start[automaton.rules[rule].start] = true;
  }
  for (StateId state = 0; state < count; ++state)
    if (!is_start[state]) sequence.push_back(state);

  std::vector<Signature> before(count);
  std::vector<Signature> now(count);
  Description description;
  for (uint32_t round = 0; round <= kSignatureBytes; ++round) {
    for (const StateId id : sequence) {
      const Automaton::State& state = automaton.states[id];
      description.clear();
      description.add((state.accepts ? 1U : 0U) | (state.live ? 2U : 0U));
      if (round > 0) {
        for (const auto& edge : automaton.bytes_of(id)) {
          description.add(edge);
          description.add(before[edge.target]);
        }
        for (const auto& call : automaton.calls_of(id)) {
          description.add(uint64_t{2} << 16);
          description.add(now[automaton.rules[call.rule].start]);
          description.add(before[call.target]);
        }
      }
      now[id] = description.hash();
    }
    std::swap(before, now);
  }
  for (StateId id = 0; id < count; ++id) {
    description.clear();
    description.add(before[id]);
    description.add(automaton.rules[automaton.states[id].rule].follow);
    before[id] = description.hash();
  }
  automaton.signatures = std::move(before);
}

}  // namespace kvern::text::grammar
