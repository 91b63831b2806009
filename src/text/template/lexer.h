// Splits a template into text and the tokens of its tags, and applies white space control.
//
// Rules follow Jinja's documentation ("Template Designer Documentation", White Space Control) with the
// options that Hugging Face sets: trim_blocks and lstrip_blocks on, keep_trailing_newline off.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/template/source.h"

namespace kvern::jinja {

enum class TokenKind : uint8_t {
  kText,        ///< Literal output; `text` is final (stripped, newlines as \n).
  kPrintBegin,  ///< {{
  kPrintEnd,    ///< }}
  kBlockBegin,  ///< {%
  kBlockEnd,    ///< %}
  kName,
  kString,    ///< `text` with escapes resolved.
  kInteger,   ///< `integer`.
  kFloat,     ///< `number`.
  kOperator,  ///< `text` is the operator.
  kEnd,       ///< End of the template; always the last token.
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  int64_t integer = 0;
  double number = 0;
  SourcePosition position;

  bool is_operator(std::string_view symbol) const { return kind == TokenKind::kOperator && text == symbol; }
  bool is_name(std::string_view name) const { return kind == TokenKind::kName && text == name; }
};

/// Tokens of a whole template, ended by kEnd. Errors are kCorrupt with the position.
Result<std::vector<Token>> tokenize(std::string_view source, std::string_view template_name);

/// Resolves the escapes of a string literal's content as Python does; unknown escapes stay as written.
/// Fails on truncated or impossible ones.
Result<std::string> unescape(std::string_view content);

}  // namespace kvern::jinja
