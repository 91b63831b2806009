// Recursive descent over expressions; each level is one precedence.
//
// Two things bound the stack: DepthGuard counts brackets and prefix operators while parsing, and make()
// measures the height of each tree, which grows by chains such as a + b + c without any recursion of the
// parser.
#include "text/template/expression_parser.h"

#include <algorithm>
#include <optional>

#include "text/template/builtin.h"

namespace kvern::jinja {

namespace {

uint32_t height(const ExpressionPtr& child) { return child ? child->depth : 0; }

uint32_t height(const ArgumentList& list) {
  uint32_t most = std::max(height(list.star), height(list.double_star));
  for (const auto& item : list.positional) most = std::max(most, height(item));
  for (const auto& [name, item] : list.named) most = std::max(most, height(item));
  return most;
}

/// Greatest height among the children of a node.
struct ChildHeight {
  uint32_t operator()(const LiteralExpression&) const { return 0; }
  uint32_t operator()(const NameExpression&) const { return 0; }
  uint32_t operator()(const CapturedExpression&) const { return 0; }
  uint32_t operator()(const SequenceExpression& e) const { return of(e.items); }
  uint32_t operator()(const DictExpression& e) const {
    uint32_t most = 0;
    for (const auto& [key, value] : e.entries) most = std::max({most, height(key), height(value)});
    return most;
  }
  uint32_t operator()(const AttributeExpression& e) const { return height(e.object); }
  uint32_t operator()(const SubscriptExpression& e) const {
    return std::max(height(e.object), height(e.index));
  }
  uint32_t operator()(const SliceExpression& e) const {
    return std::max({height(e.object), height(e.start), height(e.stop), height(e.step)});
  }
  uint32_t operator()(const CallExpression& e) const {
    return std::max(height(e.callee), height(e.arguments));
  }
  uint32_t operator()(const FilterExpression& e) const {
    return std::max(height(e.input), height(e.arguments));
  }
  uint32_t operator()(const TestExpression& e) const {
    return std::max(height(e.input), height(e.arguments));
  }
  uint32_t operator()(const UnaryExpression& e) const { return height(e.operand); }
  uint32_t operator()(const BinaryExpression& e) const { return std::max(height(e.left), height(e.right)); }
  uint32_t operator()(const LogicalExpression& e) const { return std::max(height(e.left), height(e.right)); }
  uint32_t operator()(const ComparisonExpression& e) const {
    uint32_t most = height(e.first);
    for (const auto& [op, item] : e.rest) most = std::max(most, height(item));
    return most;
  }
  uint32_t operator()(const ConcatExpression& e) const { return of(e.items); }
  uint32_t operator()(const ConditionalExpression& e) const {
    return std::max({height(e.condition), height(e.then), height(e.otherwise)});
  }

 private:
  static uint32_t of(const std::vector<ExpressionPtr>& items) {
    uint32_t most = 0;
    for (const auto& item : items) most = std::max(most, height(item));
    return most;
  }
};

std::optional<Value> constant(std::string_view name) {
  if (name == "true" || name == "True") return Value::boolean(true);
  if (name == "false" || name == "False") return Value::boolean(false);
  if (name == "none" || name == "None") return Value();
  return std::nullopt;
}

std::optional<ComparisonOperator> comparison_operator(const Token& token) {
  if (token.kind != TokenKind::kOperator) return std::nullopt;
  if (token.text == "==") return ComparisonOperator::kEqual;
  if (token.text == "!=") return ComparisonOperator::kNotEqual;
  if (token.text == "<") return ComparisonOperator::kLess;
  if (token.text == "<=") return ComparisonOperator::kLessEqual;
  if (token.text == ">") return ComparisonOperator::kGreater;
  if (token.text == ">=") return ComparisonOperator::kGreaterEqual;
  return std::nullopt;
}

std::optional<BinaryOperator> product_operator(const Token& token) {
  if (token.is_operator("*")) return BinaryOperator::kMultiply;
  if (token.is_operator("/")) return BinaryOperator::kDivide;
  if (token.is_operator("//")) return BinaryOperator::kFloorDivide;
  if (token.is_operator("%")) return BinaryOperator::kModulo;
  return std::nullopt;
}

}  // namespace

Result<ExpressionPtr> ExpressionParser::make(Expression::Node node, const Token& at) {
  auto expression = std::make_unique<Expression>();
  expression->depth = 1 + std::visit(ChildHeight{}, node);
  expression->node = std::move(node);
  expression->position = at.position;
  if (expression->depth > stream_.max_depth()) return stream_.too_deep(at);
  return expression;
}

Result<ExpressionPtr> ExpressionParser::parse_expression(Conditionals conditionals) {
  const DepthGuard guard(stream_.depth());
  if (stream_.depth() > stream_.max_depth()) return stream_.too_deep(stream_.current());
  return conditionals == Conditionals::kAllowed ? parse_conditional() : parse_or();
}

Result<ExpressionPtr> ExpressionParser::parse_conditional() {
  KVERN_TRY(ExpressionPtr value, parse_or());
  while (stream_.current().is_name("if")) {
    const Token& at = stream_.next();
    KVERN_TRY(ExpressionPtr condition, parse_or());
    ExpressionPtr otherwise;
    if (stream_.skip_name("else")) {
      KVERN_TRY(otherwise, parse_expression());
    }
    KVERN_TRY(value,
              make(ConditionalExpression{std::move(condition), std::move(value), std::move(otherwise)}, at));
  }
  return value;
}

Result<ExpressionPtr> ExpressionParser::parse_or() {
  KVERN_TRY(ExpressionPtr left, parse_and());
  while (stream_.current().is_name("or")) {
    const Token& at = stream_.next();
    KVERN_TRY(ExpressionPtr right, parse_and());
    KVERN_TRY(left, make(LogicalExpression{false, std::move(left), std::move(right)}, at));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::parse_and() {
  KVERN_TRY(ExpressionPtr left, parse_not());
  while (stream_.current().is_name("and")) {
    const Token& at = stream_.next();
    KVERN_TRY(ExpressionPtr right, parse_not());
    KVERN_TRY(left, make(LogicalExpression{true, std::move(left), std::move(right)}, at));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::parse_not() {
  if (!stream_.current().is_name("not")) return parse_comparison();
  const DepthGuard guard(stream_.depth());
  if (stream_.depth() > stream_.max_depth()) return stream_.too_deep(stream_.current());
  const Token& at = stream_.next();
  KVERN_TRY(ExpressionPtr operand, parse_not());
  return make(UnaryExpression{UnaryOperator::kNot, std::move(operand)}, at);
}

Result<ExpressionPtr> ExpressionParser::parse_comparison() {
  const Token& at = stream_.current();
  KVERN_TRY(ExpressionPtr first, parse_sum());
  ComparisonExpression comparison;
  while (true) {
    ComparisonOperator op = ComparisonOperator::kIn;
    if (const auto symbol = comparison_operator(stream_.current())) {
      op = *symbol;
      stream_.next();
    } else if (stream_.current().is_name("not") && stream_.look().is_name("in")) {
      op = ComparisonOperator::kNotIn;
      stream_.next();
      stream_.next();
    } else if (!stream_.skip_name("in")) {
      break;
    }
    KVERN_TRY(ExpressionPtr operand, parse_sum());
    comparison.rest.emplace_back(op, std::move(operand));
  }
  if (comparison.rest.empty()) return first;
  comparison.first = std::move(first);
  return make(std::move(comparison), at);
}

Result<ExpressionPtr> ExpressionParser::parse_sum() {
  KVERN_TRY(ExpressionPtr left, parse_concat());
  while (stream_.current().is_operator("+") || stream_.current().is_operator("-")) {
    const Token& at = stream_.next();
    const auto op = at.text == "+" ? BinaryOperator::kAdd : BinaryOperator::kSubtract;
    KVERN_TRY(ExpressionPtr right, parse_concat());
    KVERN_TRY(left, make(BinaryExpression{op, std::move(left), std::move(right)}, at));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::parse_concat() {
  const Token& at = stream_.current();
  KVERN_TRY(ExpressionPtr first, parse_product());
  if (!stream_.current().is_operator("~")) return first;
  ConcatExpression concat;
  concat.items.push_back(std::move(first));
  while (stream_.skip_operator("~")) {
    KVERN_TRY(ExpressionPtr item, parse_product());
    concat.items.push_back(std::move(item));
  }
  return make(std::move(concat), at);
}

Result<ExpressionPtr> ExpressionParser::parse_product() {
  KVERN_TRY(ExpressionPtr left, parse_power());
  while (const auto op = product_operator(stream_.current())) {
    const Token& at = stream_.next();
    KVERN_TRY(ExpressionPtr right, parse_power());
    KVERN_TRY(left, make(BinaryExpression{*op, std::move(left), std::move(right)}, at));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::parse_power() {
  KVERN_TRY(ExpressionPtr left, parse_unary(Filters::kAllowed));
  while (stream_.current().is_operator("**")) {
    const Token& at = stream_.next();
    KVERN_TRY(ExpressionPtr right, parse_unary(Filters::kAllowed));
    KVERN_TRY(left, make(BinaryExpression{BinaryOperator::kPower, std::move(left), std::move(right)}, at));
  }
  return left;
}

/// A sign binds tighter than filters: -1|abs is (-1)|abs.
Result<ExpressionPtr> ExpressionParser::parse_unary(Filters filters) {
  const DepthGuard guard(stream_.depth());
  if (stream_.depth() > stream_.max_depth()) return stream_.too_deep(stream_.current());
  ExpressionPtr value;
  if (stream_.current().is_operator("-") || stream_.current().is_operator("+")) {
    const Token& at = stream_.next();
    const auto op = at.text == "-" ? UnaryOperator::kMinus : UnaryOperator::kPlus;
    KVERN_TRY(ExpressionPtr operand, parse_unary(Filters::kForbidden));
    KVERN_TRY(value, make(UnaryExpression{op, std::move(operand)}, at));
  } else {
    KVERN_TRY(value, parse_primary());
  }
  KVERN_TRY(value, parse_postfix(std::move(value)));
  return filters == Filters::kAllowed ? parse_postfix_filters(std::move(value))
                                      : Result<ExpressionPtr>(std::move(value));
}

Result<ExpressionPtr> ExpressionParser::parse_name() {
  const Token& token = stream_.next();
  if (auto value = constant(token.text)) return make(LiteralExpression{*std::move(value)}, token);
  if (!open_macros.empty()) {
    MacroDefinition& macro = *open_macros.back();
    macro.uses_varargs |= token.text == "varargs";
    macro.uses_kwargs |= token.text == "kwargs";
    macro.uses_caller |= token.text == "caller";
  }
  return make(NameExpression{stream_.symbol(token.text)}, token);
}

Result<ExpressionPtr> ExpressionParser::parse_primary() {
  const Token& token = stream_.current();
  switch (token.kind) {
    case TokenKind::kName:
      return parse_name();
    case TokenKind::kString: {
      std::string text;  // neighbouring strings are one
      while (stream_.current().kind == TokenKind::kString) text += stream_.next().text;
      return make(LiteralExpression{Value::literal(std::move(text))}, token);
    }
    case TokenKind::kInteger:
      return make(LiteralExpression{Value::integer(stream_.next().integer)}, token);
    case TokenKind::kFloat:
      return make(LiteralExpression{Value::number(stream_.next().number)}, token);
    default:
      break;
  }
  if (token.is_operator("(")) return parse_parenthesis();
  if (token.is_operator("[")) return parse_list();
  if (token.is_operator("{")) return parse_dict();
  return stream_.error(token, "unexpected " + describe_token(token));
}

bool ExpressionParser::at_tuple_end() const {
  const Token& token = stream_.current();
  return token.kind == TokenKind::kPrintEnd || token.kind == TokenKind::kBlockEnd || token.is_operator(")") ||
         token.is_name("recursive");
}

Result<ExpressionPtr> ExpressionParser::parse_tuple(Conditionals conditionals) {
  const Token& at = stream_.current();
  SequenceExpression tuple{.items = {}, .is_tuple = true};
  bool comma = false;
  while (!at_tuple_end()) {
    KVERN_TRY(ExpressionPtr item, parse_expression(conditionals));
    tuple.items.push_back(std::move(item));
    comma = stream_.skip_operator(",");
    if (!comma) break;
  }
  if (tuple.items.size() == 1 && !comma) return std::move(tuple.items.front());
  if (tuple.items.empty()) return stream_.error(at, "expected an expression, got " + describe_token(at));
  return make(std::move(tuple), at);
}

Result<ExpressionPtr> ExpressionParser::parse_parenthesis() {
  const Token& at = stream_.next();
  if (stream_.skip_operator(")")) return make(SequenceExpression{.items = {}, .is_tuple = true}, at);
  KVERN_TRY(ExpressionPtr value, parse_tuple());
  KVERN_TRY_STATUS(stream_.expect_operator(")"));
  return value;
}

Result<ExpressionPtr> ExpressionParser::parse_list() {
  const Token& at = stream_.next();
  SequenceExpression list;
  while (!stream_.current().is_operator("]")) {
    if (!list.items.empty()) {
      KVERN_TRY_STATUS(stream_.expect_operator(","));
      if (stream_.current().is_operator("]")) break;
    }
    KVERN_TRY(ExpressionPtr item, parse_expression());
    list.items.push_back(std::move(item));
  }
  stream_.next();
  return make(std::move(list), at);
}

Result<ExpressionPtr> ExpressionParser::parse_dict() {
  const Token& at = stream_.next();
  DictExpression dict;
  while (!stream_.current().is_operator("}")) {
    if (!dict.entries.empty()) {
      KVERN_TRY_STATUS(stream_.expect_operator(","));
      if (stream_.current().is_operator("}")) break;
    }
    KVERN_TRY(ExpressionPtr key, parse_expression());
    KVERN_TRY_STATUS(stream_.expect_operator(":"));
    KVERN_TRY(ExpressionPtr value, parse_expression());
    dict.entries.emplace_back(std::move(key), std::move(value));
  }
  stream_.next();
  return make(std::move(dict), at);
}

Result<ExpressionPtr> ExpressionParser::parse_postfix(ExpressionPtr object) {
  while (true) {
    const Token& token = stream_.current();
    if (token.is_operator(".")) {
      KVERN_TRY(object, parse_dot(std::move(object)));
    } else if (token.is_operator("[")) {
      KVERN_TRY(object, parse_subscript(std::move(object)));
    } else if (token.is_operator("(")) {
      KVERN_TRY(object, parse_call(std::move(object)));
    } else {
      return object;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::parse_postfix_filters(ExpressionPtr input) {
  while (true) {
    const Token& token = stream_.current();
    if (token.is_operator("|")) {
      stream_.next();
      KVERN_TRY(input, parse_filter(std::move(input)));
    } else if (token.is_name("is")) {
      KVERN_TRY(input, parse_test(std::move(input)));
    } else if (token.is_operator("(")) {
      KVERN_TRY(input, parse_call(std::move(input)));
    } else {
      return input;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::parse_dot(ExpressionPtr object) {
  const Token& at = stream_.next();
  const Token& token = stream_.next();
  if (token.kind == TokenKind::kName) return make(AttributeExpression{std::move(object), token.text}, at);
  if (token.kind != TokenKind::kInteger) return stream_.error(token, "expected a name or a number after '.'");
  KVERN_TRY(ExpressionPtr index, make(LiteralExpression{Value::integer(token.integer)}, token));
  return make(SubscriptExpression{std::move(object), std::move(index)}, at);
}

Result<ExpressionPtr> ExpressionParser::parse_subscript(ExpressionPtr object) {
  const Token& at = stream_.next();
  SliceExpression slice;
  bool is_slice = false;
  ExpressionPtr* const bounds[] = {&slice.start, &slice.stop, &slice.step};
  for (size_t part = 0; part < 3; ++part) {
    if (!stream_.current().is_operator(":") && !stream_.current().is_operator("]")) {
      KVERN_TRY(*bounds[part], parse_expression());
    }
    if (part == 2 || !stream_.skip_operator(":")) break;
    is_slice = true;
  }
  if (stream_.current().is_operator(","))
    return stream_.unsupported(at, "a subscript takes one index or one slice");
  KVERN_TRY_STATUS(stream_.expect_operator("]"));
  if (is_slice) {
    slice.object = std::move(object);
    return make(std::move(slice), at);
  }
  if (!slice.start) return stream_.error(at, "expected an expression in '[]'");
  return make(SubscriptExpression{std::move(object), std::move(slice.start)}, at);
}

Result<ExpressionPtr> ExpressionParser::parse_call(ExpressionPtr callee) {
  const Token& at = stream_.current();
  KVERN_TRY(ArgumentList arguments, parse_arguments());
  return make(CallExpression{std::move(callee), std::move(arguments)}, at);
}

Result<std::string> ExpressionParser::parse_dotted_name() {
  KVERN_TRY(std::string name, stream_.expect_name());
  while (stream_.skip_operator(".")) {
    KVERN_TRY(const std::string part, stream_.expect_name());
    name += "." + part;
  }
  return name;
}

Result<ExpressionPtr> ExpressionParser::parse_filter(ExpressionPtr input) {
  const Token& at = stream_.current();
  FilterExpression filter;
  KVERN_TRY(filter.name, parse_dotted_name());
  filter.builtin = find_filter(filter.name);
  if (stream_.current().is_operator("(")) {
    KVERN_TRY(filter.arguments, parse_arguments());
  }
  filter.input = std::move(input);
  return make(std::move(filter), at);
}

Result<ExpressionPtr> ExpressionParser::parse_filter_chain(ExpressionPtr input) {
  KVERN_TRY(input, parse_filter(std::move(input)));
  while (stream_.skip_operator("|")) {
    KVERN_TRY(input, parse_filter(std::move(input)));
  }
  return input;
}

/// A test takes its argument in brackets, or a single operand without them: `x is divisibleby 3`.
Result<ExpressionPtr> ExpressionParser::parse_test(ExpressionPtr input) {
  const Token& at = stream_.next();
  const bool negated = stream_.skip_name("not");
  TestExpression test;
  KVERN_TRY(test.name, parse_dotted_name());
  test.builtin = find_test(test.name);
  const Token& token = stream_.current();
  const bool operand =
      token.kind == TokenKind::kString || token.kind == TokenKind::kInteger ||
      token.kind == TokenKind::kFloat || token.is_operator("[") || token.is_operator("{") ||
      (token.kind == TokenKind::kName && token.text != "else" && token.text != "or" && token.text != "and");
  if (token.is_operator("(")) {
    KVERN_TRY(test.arguments, parse_arguments());
  } else if (token.is_name("is")) {
    return stream_.error(token, "You cannot chain multiple tests with is");
  } else if (operand && !token.is_name("if") && !token.is_name("in") && !token.is_name("not")) {
    KVERN_TRY(ExpressionPtr argument, parse_primary());
    KVERN_TRY(argument, parse_postfix(std::move(argument)));
    test.arguments.positional.push_back(std::move(argument));
  }
  test.input = std::move(input);
  KVERN_TRY(ExpressionPtr result, make(std::move(test), at));
  return negated ? make(UnaryExpression{UnaryOperator::kNot, std::move(result)}, at)
                 : Result<ExpressionPtr>(std::move(result));
}

Result<ArgumentList> ExpressionParser::parse_arguments() {
  KVERN_TRY_STATUS(stream_.expect_operator("("));
  ArgumentList list;
  bool first = true;
  while (!stream_.current().is_operator(")")) {
    if (!first) {
      KVERN_TRY_STATUS(stream_.expect_operator(","));
      if (stream_.current().is_operator(")")) break;
    }
    first = false;
    KVERN_TRY_STATUS(parse_argument(list));
  }
  stream_.next();
  return list;
}

Status ExpressionParser::parse_argument(ArgumentList& list) {
  const Token& token = stream_.current();
  if (stream_.skip_operator("**")) {
    if (list.double_star) return stream_.error(token, "invalid syntax for function call expression");
    KVERN_TRY(list.double_star, parse_expression());
    return Ok{};
  }
  if (list.double_star) return stream_.error(token, "invalid syntax for function call expression");
  if (stream_.skip_operator("*")) {
    if (list.star) return stream_.error(token, "invalid syntax for function call expression");
    KVERN_TRY(list.star, parse_expression());
    return Ok{};
  }
  if (token.kind == TokenKind::kName && stream_.look().is_operator("=")) {
    stream_.next();
    stream_.next();
    KVERN_TRY(ExpressionPtr value, parse_expression());
    list.named.emplace_back(token.text, std::move(value));
    return Ok{};
  }
  if (list.star || !list.named.empty()) {
    return stream_.error(token, "a positional argument follows a named one");
  }
  KVERN_TRY(ExpressionPtr value, parse_expression());
  list.positional.push_back(std::move(value));
  return Ok{};
}

}  // namespace kvern::jinja
