// The expression half of the parser.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/template/ast.h"
#include "text/template/token_stream.h"

namespace kvern::jinja {

/// Whether `a if b else c` may stand at the top of an expression (not in the head of a loop or an if).
enum class Conditionals : uint8_t { kAllowed, kForbidden };

/// Parses expressions by precedence: conditional, or, and, not, comparison, + -, ~, * / // %, **, sign,
/// postfix.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& stream) : stream_(stream) {}

  Result<ExpressionPtr> parse_expression(Conditionals conditionals = Conditionals::kAllowed);
  /// An expression, or a tuple if commas follow.
  Result<ExpressionPtr> parse_tuple(Conditionals conditionals = Conditionals::kAllowed);
  /// `name(args) | name | ...` applied to `input`; `stream_` stands at the first filter's name.
  Result<ExpressionPtr> parse_filter_chain(ExpressionPtr input);
  Result<ExpressionPtr> make(Expression::Node node, const Token& at);

  /// The macros whose bodies are being parsed, innermost last: they learn whether they use varargs, kwargs,
  /// caller.
  std::vector<MacroDefinition*> open_macros;

 private:
  Result<ExpressionPtr> parse_conditional();
  Result<ExpressionPtr> parse_or();
  Result<ExpressionPtr> parse_and();
  Result<ExpressionPtr> parse_not();
  Result<ExpressionPtr> parse_comparison();
  Result<ExpressionPtr> parse_sum();
  Result<ExpressionPtr> parse_concat();
  Result<ExpressionPtr> parse_product();
  Result<ExpressionPtr> parse_power();
  enum class Filters : uint8_t { kAllowed, kForbidden };
  Result<ExpressionPtr> parse_unary(Filters filters);
  Result<ExpressionPtr> parse_primary();
  Result<ExpressionPtr> parse_name();
  Result<ExpressionPtr> parse_parenthesis();
  Result<ExpressionPtr> parse_list();
  Result<ExpressionPtr> parse_dict();
  Result<ExpressionPtr> parse_postfix(ExpressionPtr object);
  Result<ExpressionPtr> parse_postfix_filters(ExpressionPtr input);
  Result<ExpressionPtr> parse_dot(ExpressionPtr object);
  Result<ExpressionPtr> parse_subscript(ExpressionPtr object);
  Result<ExpressionPtr> parse_call(ExpressionPtr callee);
  Result<ExpressionPtr> parse_filter(ExpressionPtr input);
  Result<ExpressionPtr> parse_test(ExpressionPtr input);
  Result<ArgumentList> parse_arguments();
  Status parse_argument(ArgumentList& list);
  Result<std::string> parse_dotted_name();
  bool at_tuple_end() const;

  TokenStream& stream_;
};

}  // namespace kvern::jinja
