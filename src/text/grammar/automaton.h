// A compiled grammar: a deterministic automaton for each rule, over bytes and calls of other rules.
//
// A text is read with a stack of states to return to. From one state a byte may be taken by an edge of its
// own, inside of a rule that it calls, or behind the end of its rule; so there can be several ways at once,
// but never without taking a byte: rules that match the empty text are called only for texts that are not
// empty, and no rule calls itself before a byte is taken.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace kvern::text::grammar {

using StateId = uint32_t;
inline constexpr StateId kNoState = UINT32_MAX;
using ByteSet = std::bitset<256>;

/// Equal for states that take the same texts of up to kSignatureBytes bytes and can have the same bytes
/// behind their rules, in any grammar.
struct Signature {
  uint64_t low = 0;
  uint64_t high = 0;
  auto operator<=>(const Signature&) const = default;
};
inline constexpr uint32_t kSignatureBytes = 16;

/// Immutable once built, thread-safe.
struct Automaton {
  struct ByteEdge {
    uint8_t first = 0;
    uint8_t last = 0;
    StateId target = 0;
  };
  struct CallEdge {
    uint32_t rule = 0;
    /// Where to go on when the rule has ended.
    StateId target = 0;
  };
  struct State {
    uint32_t bytes_begin = 0;
    uint32_t bytes_count = 0;
    uint32_t calls_begin = 0;
    uint32_t calls_count = 0;
    /// The rule that it belongs to.
    uint32_t rule = 0;
    /// Index into `rows`, or kNoState.
    uint32_t row = kNoState;
    /// The rule may end here.
    bool accepts = false;
    /// It may end and cannot go on: nothing to return to.
    bool only_returns = false;
    /// The rule can be completed from here with whole tokens of the vocabulary, so a token may end here.
    bool live = false;
  };
  struct Rule {
    std::string name;
    StateId start = 0;
    /// The bytes with which a text of the rule can begin, and those that can come behind one.
    ByteSet first;
    ByteSet follow;
  };
  using Row = std::array<StateId, 256>;

  std::vector<State> states;
  std::vector<ByteEdge> byte_edges;  ///< Those of a state: rising, disjoint.
  std::vector<CallEdge> call_edges;
  /// Targets by byte of the states with many byte edges.
  std::vector<Row> rows;
  std::vector<Rule> rules;
  std::vector<Signature> signatures;  ///< One for each state.
  /// Where a text begins; belongs to rule 0, and no edge comes here.
  StateId entry = 0;

  std::span<const ByteEdge> bytes_of(StateId state) const {
    return std::span(byte_edges).subspan(states[state].bytes_begin, states[state].bytes_count);
  }
  std::span<const CallEdge> calls_of(StateId state) const {
    return std::span(call_edges).subspan(states[state].calls_begin, states[state].calls_count);
  }
  /// kNoState where the state has no edge of its own for this byte.
  StateId next(StateId state, uint8_t byte) const {
    const State& from = states[state];
    if (from.row != kNoState) return rows[from.row][byte];
    for (const ByteEdge& edge : bytes_of(state)) {
      if (byte < edge.first) break;
      if (byte <= edge.last) return edge.target;
    }
    return kNoState;
  }
  size_t memory_bytes() const;
};

/// What a vocabulary can spell, as far as a grammar has to know: a grammar that needs a byte that no token
/// has cannot be followed to its end.
struct Spellable {
  /// Bytes that are tokens by themselves.
  ByteSet bytes;
  /// Tokens of several bytes that are one character. Empty where all bytes of UTF-8 are tokens.
  std::vector<std::string> characters;
};

/// Compiles the rules that `root` can reach. Errors (kInvalidArgument, `where` names a rule): too large, left
/// recursion, a grammar that no text matches, or none that tokens can spell.
Result<Automaton> compile(const Rules& rules, RuleId root, const Spellable& spellable);

}  // namespace kvern::text::grammar
