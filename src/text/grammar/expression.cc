#include "text/grammar/expression.h"

#include "base/check.h"

namespace kvern::text::grammar {

ExprId Rules::add(Expr expr) {
  exprs_.push_back(std::move(expr));
  return static_cast<ExprId>(exprs_.size() - 1);
}

ExprId Rules::sequence(std::vector<ExprId> parts) {
  if (parts.size() == 1) return parts.front();
  return add(SequenceExpr{std::move(parts)});
}

ExprId Rules::choice(std::vector<ExprId> alternatives) {
  if (alternatives.size() == 1) return alternatives.front();
  return add(ChoiceExpr{std::move(alternatives)});
}

RuleId Rules::declare(std::string name) {
  entries_.push_back({.name = std::move(name)});
  return static_cast<RuleId>(entries_.size() - 1);
}

void Rules::define(RuleId rule, ExprId body) {
  Entry& entry = entries_[static_cast<size_t>(rule)];
  KVERN_CHECK(!entry.defined);
  entry.body = body;
  entry.defined = true;
}

RuleId Rules::add_rule(std::string name, ExprId body) {
  const RuleId rule = declare(std::move(name));
  define(rule, body);
  return rule;
}

ExprId Rules::body(RuleId rule) const {
  KVERN_CHECK(is_defined(rule));
  return entries_[static_cast<size_t>(rule)].body;
}

}  // namespace kvern::text::grammar
