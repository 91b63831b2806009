// The steps of compile().
#pragma once

#include <vector>

#include "text/grammar/automaton.h"
#include "text/grammar/nfa.h"

namespace kvern::text::grammar {

/// Whether each rule of the NFA matches the empty text.
std::vector<bool> nullable_rules(const Nfa& nfa);

/// The states and edges of the automaton, `entry` and the rules' starts. Errors: too many states.
Result<Automaton> determinize(const Nfa& nfa, const std::vector<bool>& nullable);

/// The rules so that one called before any byte is taken comes before its callers. Errors:
/// there is a circle, or a very long chain.
Result<std::vector<uint32_t>> rules_by_first_calls(const Automaton& automaton);

/// Drops the edges that lead nowhere and marks live states. False if the entry is not live. `live_only`:
/// also those that the vocabulary cannot follow to an end.
struct LivenessResult {
  bool matches_something = false;
  bool can_be_spelled = false;
};
LivenessResult remove_dead_ends(Automaton& automaton, const Spellable& spellable);

/// Fills first, follow, rows and `only_returns`. `order` is that of rules_by_first_calls().
void fill_byte_sets(Automaton& automaton, const std::vector<uint32_t>& order);
void fill_rows(Automaton& automaton);
/// Needs `follow`.
void fill_signatures(Automaton& automaton, const std::vector<uint32_t>& order);

}  // namespace kvern::text::grammar
