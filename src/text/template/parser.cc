// The statement half of the parser: text, output and tags.
#include "text/template/parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

#include "text/template/expression_parser.h"
#include "text/template/lexer.h"
#include "text/template/token_stream.h"

namespace kvern::jinja {

namespace {

constexpr std::array<std::string_view, 6> kUnsupportedTags = {"include", "import", "from",
                                                              "extends", "block",  "autoescape"};

/// Binding compares each argument with each parameter.
constexpr size_t kMaxParameters = 255;

class Parser {
 public:
  explicit Parser(TokenStream& stream) : stream_(stream), expressions_(stream) {}
  Result<Body> parse_template_body();

 private:
  using EndTags = std::initializer_list<std::string_view>;

  /// Statements up to one of `ends` ({% end %} is read up to and with its name); the name is kept in
  /// end_tag_.
  Result<Body> parse_body(EndTags ends);
  /// The rest of a tag and the body it opens.
  Result<Body> parse_block_body(EndTags ends);
  Status close_tag() { return stream_.expect(TokenKind::kBlockEnd, "'%}'"); }
  Result<std::optional<Statement>> parse_item();
  Result<Statement> parse_tag();
  Result<Statement::Node> parse_tag_node(const Token& tag);
  Result<Statement::Node> parse_if();
  Result<Statement::Node> parse_for();
  Result<Statement::Node> parse_set();
  Result<Statement::Node> parse_with();
  Result<Statement::Node> parse_macro();
  Result<Statement::Node> parse_call_block();
  Result<Statement::Node> parse_filter_block();
  Result<Statement::Node> parse_generation();
  Result<Statement::Node> parse_print();
  Status parse_signature(MacroDefinition& macro);
  Result<Body> parse_macro_body(MacroDefinition& macro, std::string_view end);

  Result<Target> parse_target();
  Result<Target> parse_target_item();
  Result<Target> name_target(const Token& token);

  TokenStream& stream_;
  ExpressionParser expressions_;
  std::string end_tag_;
  uint32_t loops_ = 0;  ///< Loops around the current place, within the innermost macro.
};

Result<Body> Parser::parse_template_body() {
  Body body;
  while (stream_.current().kind != TokenKind::kEnd) {
    KVERN_TRY(auto item, parse_item());
    if (item) body.push_back(*std::move(item));
  }
  return body;
}

Result<Body> Parser::parse_body(EndTags ends) {
  const DepthGuard guard(stream_.depth());
  if (stream_.depth() > stream_.max_depth()) return stream_.too_deep(stream_.current());
  Body body;
  while (true) {
    const Token& token = stream_.current();
    if (token.kind == TokenKind::kEnd) {
      std::string wanted;
      for (const auto end : ends) wanted += (wanted.empty() ? "'" : " or '") + std::string(end) + "'";
      return stream_.error(token, "the template ends where " + wanted + " is needed");
    }
    if (token.kind == TokenKind::kBlockBegin && stream_.look().kind == TokenKind::kName &&
        std::ranges::find(ends, stream_.look().text) != ends.end()) {
      stream_.next();
      end_tag_ = stream_.next().text;
      return body;
    }
    KVERN_TRY(auto item, parse_item());
    if (item) body.push_back(*std::move(item));
  }
}

Result<Body> Parser::parse_block_body(EndTags ends) {
  stream_.skip_operator(":");
  KVERN_TRY_STATUS(close_tag());
  return parse_body(ends);
}

Result<std::optional<Statement>> Parser::parse_item() {
  const Token& token = stream_.current();
  Statement statement;
  statement.position = token.position;
  if (token.kind == TokenKind::kText) {
    statement.node = TextStatement{stream_.next().text};
    return statement;
  }
  if (token.kind == TokenKind::kPrintBegin) {
    stream_.next();
    KVERN_TRY(ExpressionPtr value, expressions_.parse_tuple());
    KVERN_TRY_STATUS(stream_.expect(TokenKind::kPrintEnd, "'}}'"));
    OutputStatement output;
    output.values.push_back(std::move(value));
    statement.node = std::move(output);
    return statement;
  }
  KVERN_TRY_STATUS(stream_.expect(TokenKind::kBlockBegin, "a tag"));
  KVERN_TRY(statement, parse_tag());
  return statement;
}

Result<Statement> Parser::parse_tag() {
  const Token& tag = stream_.current();
  if (tag.kind != TokenKind::kName)
    return stream_.error(tag, "a tag name is needed, got " + describe_token(tag));
  Statement statement;
  statement.position = tag.position;
  stream_.next();
  KVERN_TRY(statement.node, parse_tag_node(tag));
  KVERN_TRY_STATUS(close_tag());
  return statement;
}

/// Parses a tag behind its name up to, but without, the closing %} of its last tag.
Result<Statement::Node> Parser::parse_tag_node(const Token& tag) {
  if (tag.text == "if") return parse_if();
  if (tag.text == "for") return parse_for();
  if (tag.text == "set") return parse_set();
  if (tag.text == "with") return parse_with();
  if (tag.text == "macro") return parse_macro();
  if (tag.text == "call") return parse_call_block();
  if (tag.text == "filter") return parse_filter_block();
  if (tag.text == "generation") return parse_generation();
  if (tag.text == "print") return parse_print();
  if (tag.text == "break" || tag.text == "continue") {
    if (loops_ == 0) return stream_.error(tag, "'" + tag.text + "' outside of a loop");
    if (tag.text == "break") return BreakStatement{};
    return ContinueStatement{};
  }
  if (std::ranges::find(kUnsupportedTags, tag.text) != kUnsupportedTags.end()) {
    return stream_.unsupported(tag, "'" + tag.text + "' is not supported: a chat template stands alone");
  }
  return stream_.error(tag, "Encountered unknown tag '" + tag.text + "'.");
}

Result<Statement::Node> Parser::parse_if() {
  IfStatement node;
  while (true) {
    KVERN_TRY(ExpressionPtr condition, expressions_.parse_tuple(Conditionals::kForbidden));
    KVERN_TRY(Body body, parse_block_body({"elif", "else", "endif"}));
    node.branches.emplace_back(std::move(condition), std::move(body));
    if (end_tag_ == "elif") continue;
    if (end_tag_ == "else") {
      KVERN_TRY(node.otherwise, parse_block_body({"endif"}));
    }
    return node;
  }
}

Result<Statement::Node> Parser::parse_for() {
  ForStatement node;
  KVERN_TRY(node.target, parse_target());
  if (!stream_.skip_name("in")) return stream_.unexpected_token("'in'");
  KVERN_TRY(node.iterable, expressions_.parse_tuple(Conditionals::kForbidden));
  if (stream_.skip_name("if")) {
    KVERN_TRY(node.filter, expressions_.parse_expression());
  }
  if (stream_.current().is_name("recursive")) {
    return stream_.unsupported(stream_.current(),
                               "recursive loops are not supported; a macro can call itself");
  }
  ++loops_;
  KVERN_TRY(node.body, parse_block_body({"endfor", "else"}));
  --loops_;
  if (end_tag_ == "else") {
    KVERN_TRY(node.otherwise, parse_block_body({"endfor"}));
  }
  return node;
}

Result<Statement::Node> Parser::parse_set() {
  KVERN_TRY(Target target, parse_target());
  if (stream_.skip_operator("=")) {
    KVERN_TRY(ExpressionPtr value, expressions_.parse_tuple());
    return SetStatement{std::move(target), std::move(value)};
  }
  SetBlockStatement node;
  node.target = std::move(target);
  if (stream_.skip_operator("|")) {
    KVERN_TRY(ExpressionPtr captured, expressions_.make(CapturedExpression{}, stream_.current()));
    KVERN_TRY(node.filter, expressions_.parse_filter_chain(std::move(captured)));
  }
  KVERN_TRY(node.body, parse_block_body({"endset"}));
  return node;
}

Result<Statement::Node> Parser::parse_with() {
  WithStatement node;
  while (stream_.current().kind != TokenKind::kBlockEnd) {
    if (!node.assignments.empty()) KVERN_TRY_STATUS(stream_.expect_operator(","));
    KVERN_TRY(Target target, parse_target_item());
    KVERN_TRY_STATUS(stream_.expect_operator("="));
    KVERN_TRY(ExpressionPtr value, expressions_.parse_expression());
    node.assignments.emplace_back(std::move(target), std::move(value));
  }
  KVERN_TRY(node.body, parse_block_body({"endwith"}));
  return node;
}

Status Parser::parse_signature(MacroDefinition& macro) {
  KVERN_TRY_STATUS(stream_.expect_operator("("));
  while (!stream_.current().is_operator(")")) {
    if (!macro.parameters.empty()) KVERN_TRY_STATUS(stream_.expect_operator(","));
    const Token& token = stream_.current();
    MacroParameter parameter;
    KVERN_TRY(parameter.name, stream_.expect_name());
    parameter.symbol = stream_.symbol(parameter.name);
    if (stream_.skip_operator("=")) {
      KVERN_TRY(parameter.fallback, expressions_.parse_expression());
    } else if (!macro.parameters.empty() && macro.parameters.back().fallback) {
      return stream_.error(token, "non-default argument follows default argument");
    }
    if (macro.parameters.size() == kMaxParameters) {
      return stream_.unsupported(token,
                                 "a macro has at most " + std::to_string(kMaxParameters) + " parameters");
    }
    macro.parameters.push_back(std::move(parameter));
  }
  stream_.next();
  return Ok{};
}

Result<Body> Parser::parse_macro_body(MacroDefinition& macro, std::string_view end) {
  expressions_.open_macros.push_back(&macro);
  const uint32_t loops = std::exchange(loops_, 0);
  KVERN_TRY(Body body, parse_block_body({end}));
  loops_ = loops;
  expressions_.open_macros.pop_back();
  return body;
}

Result<Statement::Node> Parser::parse_macro() {
  auto macro = std::make_unique<MacroDefinition>();
  KVERN_TRY(macro->name, stream_.expect_name());
  macro->symbol = stream_.symbol(macro->name);
  KVERN_TRY_STATUS(parse_signature(*macro));
  KVERN_TRY(macro->body, parse_macro_body(*macro, "endmacro"));
  return MacroStatement{std::move(macro)};
}

Result<Statement::Node> Parser::parse_call_block() {
  CallBlockStatement node;
  node.caller = std::make_unique<MacroDefinition>();
  node.caller->name = "caller";
  if (stream_.current().is_operator("(")) KVERN_TRY_STATUS(parse_signature(*node.caller));
  const Token& at = stream_.current();
  KVERN_TRY(node.call, expressions_.parse_expression());
  if (!std::holds_alternative<CallExpression>(node.call->node)) return stream_.error(at, "expected a call");
  KVERN_TRY(node.caller->body, parse_macro_body(*node.caller, "endcall"));
  return node;
}

Result<Statement::Node> Parser::parse_filter_block() {
  FilterBlockStatement node;
  KVERN_TRY(ExpressionPtr captured, expressions_.make(CapturedExpression{}, stream_.current()));
  KVERN_TRY(node.filter, expressions_.parse_filter_chain(std::move(captured)));
  KVERN_TRY(node.body, parse_block_body({"endfilter"}));
  return node;
}

Result<Statement::Node> Parser::parse_generation() {
  KVERN_TRY(Body body, parse_block_body({"endgeneration"}));
  return GenerationStatement{std::move(body)};
}

Result<Statement::Node> Parser::parse_print() {
  OutputStatement node;
  do {
    KVERN_TRY(ExpressionPtr value, expressions_.parse_expression());
    node.values.push_back(std::move(value));
  } while (stream_.skip_operator(","));
  return node;
}

Result<Target> Parser::name_target(const Token& token) {
  if (token.kind != TokenKind::kName)
    return stream_.error(token, "cannot assign to " + describe_token(token));
  for (const std::string_view reserved : {"true", "false", "none", "True", "False", "None"}) {
    if (token.text == reserved) return stream_.error(token, "cannot assign to '" + token.text + "'");
  }
  Target target;
  target.position = token.position;
  target.where = stream_.symbol(token.text);
  return target;
}

/// A name, an attribute of a namespace, or a tuple in brackets.
Result<Target> Parser::parse_target_item() {
  const DepthGuard guard(stream_.depth());
  if (stream_.depth() > stream_.max_depth()) return stream_.too_deep(stream_.current());
  if (stream_.skip_operator("(")) {
    KVERN_TRY(Target target, parse_target());
    KVERN_TRY_STATUS(stream_.expect_operator(")"));
    return target;
  }
  KVERN_TRY(Target target, name_target(stream_.current()));
  stream_.next();
  if (stream_.skip_operator(".")) {
    KVERN_TRY(std::string attribute, stream_.expect_name());
    target.where = NamespaceTarget{std::get<SymbolId>(target.where), std::move(attribute)};
  }
  return target;
}

Result<Target> Parser::parse_target() {
  KVERN_TRY(Target first, parse_target_item());
  if (!stream_.current().is_operator(",")) return first;
  Target tuple;
  tuple.position = first.position;
  std::vector<Target> items;
  items.push_back(std::move(first));
  while (stream_.skip_operator(",")) {
    if (stream_.current().kind != TokenKind::kName && !stream_.current().is_operator("(")) break;
    if (stream_.current().is_name("in")) break;
    KVERN_TRY(Target item, parse_target_item());
    items.push_back(std::move(item));
  }
  tuple.where = std::move(items);
  return tuple;
}

}  // namespace

Result<TemplateTree> parse_template(std::string_view source, std::string_view name,
                                    const ParseLimits& limits) {
  if (source.size() > limits.max_source_bytes) {
    return fail(ErrorCode::kExhausted,
                "the template is longer than " + std::to_string(limits.max_source_bytes) + " bytes",
                std::string(name));
  }
  KVERN_TRY(auto tokens, tokenize(source, name));
  TokenStream stream(std::move(tokens), name, limits.max_depth);
  for (const std::string_view reserved : kReservedSymbols) stream.symbol(reserved);
  TemplateTree tree;
  tree.name = std::string(name);
  KVERN_TRY(tree.body, Parser(stream).parse_template_body());
  tree.symbols = stream.take_symbols();
  return tree;
}

}  // namespace kvern::jinja
