// Deterministic automata over characters: what a string may contain when several patterns and lengths say so
// together.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "text/grammar/expression.h"
#include "text/grammar/json_rules.h"

namespace kvern::text::grammar {

struct CharDfa {
  struct Edge {
    CharSet set;
    uint32_t target = 0;
  };
  struct State {
    std::vector<Edge> edges;  ///< Disjoint sets.
    bool accepts = false;
  };
  /// State 0 is the start.
  std::vector<State> states;
};

/// Of an expression of characters, sequences, choices and repetitions. Errors (kInvalidArgument): more than
/// 20,000 states.
Result<CharDfa> char_dfa(const Rules& rules, ExprId expr);
/// Texts of so many characters.
Result<CharDfa> length_dfa(Times length);
/// Texts that both read. Errors as above.
Result<CharDfa> both(const CharDfa& a, const CharDfa& b);
/// No text leads to an accepting state.
bool is_empty(const CharDfa& dfa);
/// The content of JSON strings that it reads; characters are spelled as JsonRules::char_of() does.
ExprId json_content(const CharDfa& dfa, JsonRules& json, Rules& rules);

}  // namespace kvern::text::grammar
