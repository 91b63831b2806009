// Which tokens may come at one state of an automaton, as far as that depends on the state alone.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/grammar/automaton.h"
#include "text/grammar/token_trie.h"

namespace kvern::text::grammar {

/// Tokens whose bytes are read up to the end of the state's rule: the rest of them, `suffix`, depends on what
/// comes behind it.
struct OpenTokens {
  std::string_view suffix;
  uint32_t begin = 0;
  uint32_t count = 0;
};

/// All tokens below a node, of which the bytes before it are read.
struct OpenSubtree {
  const TokenTrie* trie = nullptr;
  uint32_t node = 0;
};

/// A set of tokens, and those that the stack decides. Immutable once made.
struct StateMask {
  /// The tokens that may come whatever the stack is: as bits where there are many, else as ids.
  std::vector<uint64_t> dense;
  std::vector<TokenId> sparse;
  /// Ranges of `open_tokens`.
  std::vector<OpenTokens> open;
  std::vector<TokenId> open_tokens;
  /// Where many tokens are open. Some of them may be allowed or open for other reasons, too.
  std::vector<OpenSubtree> open_subtrees;

  bool is_open() const { return !open.empty() || !open_subtrees.empty(); }
  size_t memory_bytes() const;
};

/// Reads every token of a trie, which outlives the mask, from `state` on. `vocabulary` is the length of a
/// mask. Open are only tokens whose next byte can follow the rule at all.
StateMask mask_of_state(const Automaton& automaton, StateId state, const TokenTrie& trie, size_t vocabulary);

/// What becomes of open tokens when the rule returns to `state`.
StateMask mask_of_open(const Automaton& automaton, StateId state, const StateMask& open, size_t vocabulary);

}  // namespace kvern::text::grammar
