// States of one automaton that no token tells apart.
#pragma once

#include <cstdint>
#include <vector>

#include "text/grammar/automaton.h"

namespace kvern::text::grammar {

/// For each state the first one that takes the same texts of up to `bytes` bytes in the same ways, and behind
/// whose rule the same bytes can come: what a token of so many bytes does at the one, it does at the other,
/// whatever the stack is. (Of a string of at most 500 characters, all states but the last are alike.) The
/// work is bounded: in an automaton that takes too much of it, every state stands for itself.
std::vector<StateId> state_classes(const Automaton& automaton, size_t bytes);

}  // namespace kvern::text::grammar
