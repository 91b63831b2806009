#include "text/grammar/token_masks.h"

#include "text/grammar/token_walk.h"

namespace kvern::text::grammar {

size_t StateMask::memory_bytes() const {
  return sizeof(*this) + dense.capacity() * sizeof(uint64_t) + sparse.capacity() * sizeof(TokenId) +
         open.capacity() * sizeof(OpenTokens) + open_tokens.capacity() * sizeof(TokenId) +
         open_subtrees.capacity() * sizeof(OpenSubtree);
}

StateMask mask_of_state(const Automaton& automaton, StateId state, const TokenTrie& trie, size_t vocabulary) {
  TokenWalk walk(automaton, state, vocabulary);
  walk.read(trie);
  return walk.take();
}

StateMask mask_of_open(const Automaton& automaton, StateId state, const StateMask& open, size_t vocabulary) {
  TokenWalk walk(automaton, state, vocabulary);
  for (const OpenTokens& group : open.open)
    walk.read(group.suffix, std::span(open.open_tokens).subspan(group.begin, group.count));
  for (const OpenSubtree& subtree : open.open_subtrees) walk.read(subtree);
  return walk.take();
}

}  // namespace kvern::text::grammar
