// Cursor over tokens, with the messages for what was found instead.
#include "text/template/token_stream.h"

namespace kvern::jinja {

std::string describe_token(const Token& token) {
  switch (token.kind) {
    case TokenKind::kText:
      return "template text";
    case TokenKind::kPrintBegin:
      return "'{{'";
    case TokenKind::kPrintEnd:
      return "'}}'";
    case TokenKind::kBlockBegin:
      return "'{%'";
    case TokenKind::kBlockEnd:
      return "'%}'";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return "a number";
    case TokenKind::kName:
    case TokenKind::kOperator:
      return "'" + token.text + "'";
    case TokenKind::kEnd:
      return "end of template";
  }
  return "a token";
}

bool TokenStream::skip_operator(std::string_view symbol) {
  if (!current().is_operator(symbol)) return false;
  next();
  return true;
}

bool TokenStream::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  next();
  return true;
}

std::unexpected<Error> TokenStream::unexpected_token(std::string_view wanted) const {
  return error(current(), "expected " + std::string(wanted) + ", got " + describe_token(current()));
}

Status TokenStream::expect_operator(std::string_view symbol) {
  if (!skip_operator(symbol)) return unexpected_token("'" + std::string(symbol) + "'");
  return Ok{};
}

Status TokenStream::expect(TokenKind kind, std::string_view what) {
  if (current().kind != kind) return unexpected_token(what);
  next();
  return Ok{};
}

Result<std::string> TokenStream::expect_name() {
  if (current().kind != TokenKind::kName) return unexpected_token("a name");
  return next().text;
}

SymbolId TokenStream::symbol(std::string_view name) {
  const auto [found, added] = symbol_ids_.try_emplace(std::string(name), SymbolId(symbols_.size()));
  if (added) symbols_.emplace_back(name);
  return found->second;
}

}  // namespace kvern::jinja
