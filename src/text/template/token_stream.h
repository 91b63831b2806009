// The tokens of a template with a cursor, the table of variable names and the depth guard: what both halves
// of the parser share. One thread, for the time of one parse.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "text/template/ast.h"
#include "text/template/lexer.h"

namespace kvern::jinja {

class TokenStream {
 public:
  TokenStream(std::vector<Token> tokens, std::string_view template_name, uint32_t max_depth)
      : tokens_(std::move(tokens)), name_(template_name), max_depth_(max_depth) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  const Token& next() {
    const Token& token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool skip_operator(std::string_view symbol);
  bool skip_name(std::string_view name);
  Status expect_operator(std::string_view symbol);
  Status expect(TokenKind kind, std::string_view what);
  /// The text of the name that must come next.
  Result<std::string> expect_name();

  /// A syntax error (kCorrupt) at a token.
  std::unexpected<Error> error(const Token& token, std::string message) const {
    return fail(ErrorCode::kCorrupt, std::move(message), describe(name_, token.position));
  }
  std::unexpected<Error> unexpected_token(std::string_view wanted) const;
  std::unexpected<Error> unsupported(const Token& token, std::string message) const {
    return fail(ErrorCode::kUnsupported, std::move(message), describe(name_, token.position));
  }
  std::unexpected<Error> too_deep(const Token& token) const {
    return fail(ErrorCode::kExhausted, "the template is nested deeper than " + std::to_string(max_depth_),
                describe(name_, token.position));
  }

  SymbolId symbol(std::string_view name);
  std::vector<std::string> take_symbols() { return std::move(symbols_); }
  uint32_t max_depth() const { return max_depth_; }
  uint32_t& depth() { return depth_; }

 private:
  std::vector<Token> tokens_;
  std::string_view name_;
  uint32_t max_depth_;
  uint32_t depth_ = 0;
  size_t at_ = 0;
  std::vector<std::string> symbols_;
  std::unordered_map<std::string, SymbolId> symbol_ids_;
};

/// "end of template", "'%}'", "name 'x'": for messages.
std::string describe_token(const Token& token);

/// Counts one level of nesting for as long as it lives.
class DepthGuard {
 public:
  explicit DepthGuard(uint32_t& depth) : depth_(depth) { ++depth_; }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  uint32_t& depth_;
};

}  // namespace kvern::jinja
