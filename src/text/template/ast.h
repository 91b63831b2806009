// The parsed template. Immutable after parsing, so any number of renders may walk it at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "text/template/source.h"
#include "text/template/value.h"

namespace kvern::jinja {

struct Builtin;

/// Index of a variable's name in Template::symbols.
enum class SymbolId : uint32_t {};
/// Names that the language itself sets; the parser gives them these ids in every template.
constexpr SymbolId kLoopSymbol{0};
constexpr SymbolId kCallerSymbol{1};
constexpr SymbolId kVarargsSymbol{2};
constexpr SymbolId kKwargsSymbol{3};
constexpr std::string_view kReservedSymbols[] = {"loop", "caller", "varargs", "kwargs"};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct ArgumentList {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr star;         ///< *args, or null.
  ExpressionPtr double_star;  ///< **kwargs, or null.
};

enum class UnaryOperator : uint8_t { kNot, kMinus, kPlus };
enum class BinaryOperator : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };
enum class ComparisonOperator : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};

struct LiteralExpression {
  Value value;
};
struct NameExpression {
  SymbolId symbol{};
};
/// What a filter block or a block set captured: the input of the first filter there.
struct CapturedExpression {};
struct SequenceExpression {
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
};
struct DictExpression {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
/// object.name
struct AttributeExpression {
  ExpressionPtr object;
  std::string name;
};
/// object[index]
struct SubscriptExpression {
  ExpressionPtr object;
  ExpressionPtr index;
};
/// object[start:stop:step]; each bound may be null.
struct SliceExpression {
  ExpressionPtr object;
  ExpressionPtr start;
  ExpressionPtr stop;
  ExpressionPtr step;
};
struct CallExpression {
  ExpressionPtr callee;
  ArgumentList arguments;
};
/// input|name(arguments); `builtin` is null for an unknown name, which is an error only when it is reached.
struct FilterExpression {
  ExpressionPtr input;
  std::string name;
  const Builtin* builtin = nullptr;
  ArgumentList arguments;
};
/// input is name(arguments)
struct TestExpression {
  ExpressionPtr input;
  std::string name;
  const Builtin* builtin = nullptr;
  ArgumentList arguments;
};
struct UnaryExpression {
  UnaryOperator op{};
  ExpressionPtr operand;
};
struct BinaryExpression {
  BinaryOperator op{};
  ExpressionPtr left;
  ExpressionPtr right;
};
struct LogicalExpression {
  bool is_and = false;
  ExpressionPtr left;
  ExpressionPtr right;
};
/// first op1 a op2 b ...: true when each neighbouring pair holds.
struct ComparisonExpression {
  ExpressionPtr first;
  std::vector<std::pair<ComparisonOperator, ExpressionPtr>> rest;
};
/// a ~ b ~ c
struct ConcatExpression {
  std::vector<ExpressionPtr> items;
};
/// then if condition else otherwise; `otherwise` may be null.
struct ConditionalExpression {
  ExpressionPtr condition;
  ExpressionPtr then;
  ExpressionPtr otherwise;
};

struct Expression {
  using Node =
      std::variant<LiteralExpression, NameExpression, CapturedExpression, SequenceExpression, DictExpression,
                   AttributeExpression, SubscriptExpression, SliceExpression, CallExpression,
                   FilterExpression, TestExpression, UnaryExpression, BinaryExpression, LogicalExpression,
                   ComparisonExpression, ConcatExpression, ConditionalExpression>;
  Node node;
  SourcePosition position;
  uint32_t depth = 1;  ///< Height of this tree; the parser bounds it, so that walking it is safe.
};

struct Statement;
using Body = std::vector<Statement>;

struct Target;
struct NamespaceTarget {
  SymbolId symbol{};
  std::string attribute;
};
/// What an assignment or a loop writes to: a name, an attribute of a namespace, or a tuple of targets.
struct Target {
  std::variant<SymbolId, NamespaceTarget, std::vector<Target>> where;
  SourcePosition position;
};

struct TextStatement {
  std::string text;
};
/// {{ value }} or {% print value, value %}.
struct OutputStatement {
  std::vector<ExpressionPtr> values;
};
struct IfStatement {
  std::vector<std::pair<ExpressionPtr, Body>> branches;  ///< if, elif, elif, ...
  Body otherwise;
};
struct ForStatement {
  Target target;
  ExpressionPtr iterable;
  ExpressionPtr filter;  ///< May be null.
  Body body;
  Body otherwise;
};
struct SetStatement {
  Target target;
  ExpressionPtr value;
};
/// {% set target %}body{% endset %}; `filter` (over CapturedExpression) may be null.
struct SetBlockStatement {
  Target target;
  ExpressionPtr filter;
  Body body;
};
struct WithStatement {
  std::vector<std::pair<Target, ExpressionPtr>> assignments;
  Body body;
};
struct MacroParameter {
  std::string name;
  SymbolId symbol{};
  ExpressionPtr fallback;  ///< Null: the parameter has no default.
};
struct MacroDefinition {
  std::string name;
  SymbolId symbol{};
  std::vector<MacroParameter> parameters;
  Body body;
  bool uses_varargs = false;
  bool uses_kwargs = false;
  bool uses_caller = false;
};
struct MacroStatement {
  std::unique_ptr<MacroDefinition> macro;
};
/// {% call(parameters) call %}body{% endcall %}
struct CallBlockStatement {
  std::unique_ptr<MacroDefinition> caller;
  ExpressionPtr call;  ///< Always a CallExpression.
};
struct FilterBlockStatement {
  ExpressionPtr filter;
  Body body;
};
/// {% generation %}: marks what the assistant said; renders its body in a scope of its own.
struct GenerationStatement {
  Body body;
};
struct BreakStatement {};
struct ContinueStatement {};

struct Statement {
  using Node = std::variant<TextStatement, OutputStatement, IfStatement, ForStatement, SetStatement,
                            SetBlockStatement, WithStatement, MacroStatement, CallBlockStatement,
                            FilterBlockStatement, GenerationStatement, BreakStatement, ContinueStatement>;
  Node node;
  SourcePosition position;
};

/// A whole template.
struct TemplateTree {
  std::string name;
  std::vector<std::string> symbols;  ///< Names of variables, by SymbolId.
  Body body;
};

}  // namespace kvern::jinja
