// The rules of a grammar as one nondeterministic automaton over bytes, with an island for each rule and edges
// that call a rule.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace kvern::text::grammar {

/// Tokens that a grammar names by id are spelled as eight octal digits of this many and the next seven bytes.
/// None of them occurs in UTF-8, so no text can be mistaken for such a token.
inline constexpr uint8_t kTokenDigit = 0xF8;
inline constexpr uint32_t kTokenDigits = 8;

struct Nfa {
  enum class EdgeKind : uint8_t { kEmpty, kBytes, kCall };
  struct Edge {
    uint32_t target = 0;
    /// The next edge of the same vertex, or kNone.
    uint32_t next = 0;
    /// Of a call: the rule (an index of `rules`).
    uint32_t rule = 0;
    EdgeKind kind = EdgeKind::kEmpty;
    uint8_t first = 0;
    uint8_t last = 0;
  };
  struct Rule {
    std::string name;
    uint32_t start = 0;
    /// Has no edges.
    uint32_t accept = 0;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  /// The first edge of each vertex, or kNone.
  std::vector<uint32_t> heads;
  std::vector<Edge> edges;
  /// Rule 0 is the root. Only rules that it can reach are here, and those made of what is repeated often.
  std::vector<Rule> rules;

  template <typename Visit>
  void for_each_edge(uint32_t vertex, const Visit& visit) const {
    for (uint32_t e = heads[vertex]; e != kNone; e = edges[e].next) visit(edges[e]);
  }
};

/// All rules that `root` can reach, which must be defined. Errors (kInvalidArgument): repetitions that make
/// it larger than a million vertices.
Result<Nfa> make_nfa(const Rules& rules, RuleId root);

}  // namespace kvern::text::grammar
