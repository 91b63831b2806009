// Runs a parsed template: one object for one render.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/template/ast.h"
#include "text/template/runtime.h"
#include "text/template/value.h"

namespace kvern::jinja {

/// Variables of one block. Macros keep the scope that they were defined in alive.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<SymbolId, Value>> variables;

  void set(SymbolId symbol, Value value);
  const Value* find_here(SymbolId symbol) const;
};

/// Walks the tree. Borrows it and the context for its lifetime. One thread.
class Interpreter {
 public:
  Interpreter(const TemplateTree& tree, const RenderLimits& limits, const Clock* clock)
      : tree_(tree), runtime_(limits, clock) {}

  /// Renders once.
  Result<std::string> render(const json::object& context);

  /// Runs a macro in the scope where it was defined.
  Result<Value> call_macro(const MacroDefinition& macro, const std::shared_ptr<Scope>& closure,
                           CallArguments arguments);

 private:
  enum class Flow : uint8_t { kNormal, kBreak, kContinue };

  Status load_context(const json::object& context);

  // Statements (interpreter.cc).
  Result<Flow> run_body(const Body& body);
  Result<Flow> run(const Statement& statement);
  Result<Flow> run_node(const TextStatement& node);
  Result<Flow> run_node(const OutputStatement& node);
  Result<Flow> run_node(const IfStatement& node);
  Result<Flow> run_node(const ForStatement& node);
  Result<Flow> run_node(const SetStatement& node);
  Result<Flow> run_node(const SetBlockStatement& node);
  Result<Flow> run_node(const WithStatement& node);
  Result<Flow> run_node(const MacroStatement& node);
  Result<Flow> run_node(const CallBlockStatement& node);
  Result<Flow> run_node(const FilterBlockStatement& node);
  Result<Flow> run_node(const GenerationStatement& node);
  Result<Flow> run_node(const BreakStatement&) { return Flow::kBreak; }
  Result<Flow> run_node(const ContinueStatement&) { return Flow::kContinue; }
  Result<List*> loop_items(const ForStatement& node);
  Result<Flow> run_iteration(const ForStatement& node, const Value& item, const Value& loop);
  Result<Flow> run_in_scope(const Body& body);
  /// The output of a body in a scope of its own, filtered if `filter` is given; `flow` says how the body
  /// ended.
  Result<Value> capture(const Body& body, const Expression* filter, Flow& flow);
  Status emit(std::string_view text);
  Status assign(const Target& target, const Value& value);
  Result<Value> make_macro(const MacroDefinition& macro);
  Status bind_parameters(const MacroDefinition& macro, CallArguments arguments);
  Status bind_named(const MacroDefinition& macro, CallArguments& arguments);
  Status fill_missing(const MacroDefinition& macro);

  // Expressions (evaluate.cc).
  Result<Value> evaluate(const Expression& expression);
  Result<Value> evaluate_node(const LiteralExpression& node) { return node.value; }
  Result<Value> evaluate_node(const NameExpression& node);
  Result<Value> evaluate_node(const CapturedExpression&) { return captured_; }
  Result<Value> evaluate_node(const SequenceExpression& node);
  Result<Value> evaluate_node(const DictExpression& node);
  Result<Value> evaluate_node(const AttributeExpression& node);
  Result<Value> evaluate_node(const SubscriptExpression& node);
  Result<Value> evaluate_node(const SliceExpression& node);
  Result<Value> evaluate_node(const CallExpression& node);
  Result<Value> evaluate_node(const FilterExpression& node);
  Result<Value> evaluate_node(const TestExpression& node);
  Result<Value> evaluate_node(const UnaryExpression& node);
  Result<Value> evaluate_node(const BinaryExpression& node);
  Result<Value> evaluate_node(const LogicalExpression& node);
  Result<Value> evaluate_node(const ComparisonExpression& node);
  Result<Value> evaluate_node(const ConcatExpression& node);
  Result<Value> evaluate_node(const ConditionalExpression& node);
  Result<bool> evaluate_condition(const Expression& expression);
  Result<CallArguments> evaluate_arguments(const ArgumentList& list);
  /// A call, with `caller` added for call blocks.
  Result<Value> evaluate_call(const CallExpression& node, const Value* caller);
  Result<Value> call(const Value& callee, CallArguments arguments);

  /// Adds the place to an error that has none yet.
  std::unexpected<Error> locate(Error error, SourcePosition position) const;

  const TemplateTree& tree_;
  Runtime runtime_;  // before everything that holds values
  std::shared_ptr<Scope> scope_;
  std::string output_;
  std::string* out_ = &output_;
  Value captured_;
};

}  // namespace kvern::jinja
