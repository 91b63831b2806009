// The characters of a GBNF text: spaces, comments, names, numbers and escapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/grammar/char_set.h"

namespace kvern::text::grammar {

/// A place in a text. Borrows it; one thread.
class GbnfScanner {
 public:
  explicit GbnfScanner(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  /// The next byte; 0 at the end.
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  /// Takes it if it is this one.
  bool take(char c);
  bool take(std::string_view word);
  void skip(size_t bytes) { at_ += bytes; }
  std::string_view rest() const { return text_.substr(at_); }
  size_t offset() const { return at_; }

  /// Spaces, tabs and comments.
  void skip_spaces();
  /// Line ends too.
  void skip_lines();
  /// At the end of a line or of the text.
  bool at_line_end() const { return at_end() || peek() == '\n' || peek() == '\r'; }

  /// Letters, digits, - and _; empty where there are none.
  std::string_view name();
  /// Digits; nothing where there are none, saturating.
  std::optional<uint64_t> number();
  /// One character, plain or escaped.
  Result<char32_t> character();

  /// "line 3, column 7: expected ...".
  std::unexpected<Error> error(std::string_view message) const;
  std::unexpected<Error> error_at(size_t offset, std::string_view message) const;
  /// The rule that errors name.
  void enter_rule(std::string name) { rule_ = std::move(name); }

 private:
  Result<char32_t> escape();

  std::string_view text_;
  size_t at_ = 0;
  std::string rule_;
};

}  // namespace kvern::text::grammar
