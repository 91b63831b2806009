// What a grammar says, whatever it was written in (GBNF, a JSON Schema, a structure of a tool call): rules
// made of expressions.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "text/grammar/char_set.h"
#include "text/token.h"

namespace kvern::text::grammar {

enum class ExprId : uint32_t {};
enum class RuleId : uint32_t {};

inline constexpr uint32_t kUnlimited = std::numeric_limits<uint32_t>::max();

/// How often something is repeated, both included.
struct Times {
  uint32_t min = 0;
  uint32_t max = kUnlimited;
};

/// These bytes; none is the empty text.
struct BytesExpr {
  std::string bytes;
};
/// One character; an empty set matches nothing.
struct CharsExpr {
  CharSet set;
};
struct SequenceExpr {
  std::vector<ExprId> parts;
};
/// Without alternatives it matches nothing.
struct ChoiceExpr {
  std::vector<ExprId> alternatives;
};
struct RepeatExpr {
  ExprId child{};
  Times times;
};
struct RuleExpr {
  RuleId rule{};
};
/// One whole token by its id, or any token but that one; end tokens are never among them.
struct TokenExpr {
  TokenId token = 0;
  bool negated = false;
};
/// A finite automaton whose edges are expressions: what a tree could say only with copies.
struct GraphExpr {
  struct Edge {
    uint32_t from = 0;
    uint32_t to = 0;
    ExprId expr{};
  };
  /// Vertices are 0 to vertices - 1; 0 is the start.
  uint32_t vertices = 1;
  std::vector<Edge> edges;
  std::vector<uint32_t> accepting;
};

using Expr =
    std::variant<BytesExpr, CharsExpr, SequenceExpr, ChoiceExpr, RepeatExpr, RuleExpr, TokenExpr, GraphExpr>;

/// Rules under construction. Expressions are never changed, so they may be shared. One thread.
class Rules {
 public:
  ExprId bytes(std::string_view text) { return add(BytesExpr{std::string(text)}); }
  ExprId chars(CharSet set) { return add(CharsExpr{std::move(set)}); }
  ExprId empty() { return bytes(""); }
  ExprId nothing() { return add(ChoiceExpr{}); }
  ExprId sequence(std::vector<ExprId> parts);
  ExprId choice(std::vector<ExprId> alternatives);
  ExprId repeat(ExprId child, Times times) { return add(RepeatExpr{child, times}); }
  ExprId optional(ExprId child) { return repeat(child, {.min = 0, .max = 1}); }
  ExprId rule(RuleId rule) { return add(RuleExpr{rule}); }
  ExprId token(TokenExpr token) { return add(token); }
  ExprId graph(GraphExpr graph) { return add(std::move(graph)); }

  /// A rule that define() will fill.
  RuleId declare(std::string name);
  void define(RuleId rule, ExprId body);
  RuleId add_rule(std::string name, ExprId body);

  const Expr& at(ExprId id) const { return exprs_[static_cast<size_t>(id)]; }
  const std::string& name(RuleId rule) const { return entries_[static_cast<size_t>(rule)].name; }
  /// The rule must have been defined.
  ExprId body(RuleId rule) const;
  bool is_defined(RuleId rule) const { return entries_[static_cast<size_t>(rule)].defined; }
  size_t rule_count() const { return entries_.size(); }
  size_t expr_count() const { return exprs_.size(); }

 private:
  struct Entry {
    std::string name;
    ExprId body{};
    bool defined = false;
  };
  ExprId add(Expr expr);

  std::vector<Expr> exprs_;
  std::vector<Entry> entries_;
};

}  // namespace kvern::text::grammar
