// JSON (RFC 8259) as expressions.
//
// White space: between tokens where people put it, and little of it. Strings: valid UTF-8; escapes as the RFC
// has them, surrogates only in pairs. Numbers: at most 18 digits before and behind the point, and an exponent
// that a double can hold.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "text/grammar/expression.h"

namespace kvern::text::grammar {

/// Adds to `rules`, which it borrows. One thread.
class JsonRules {
 public:
  explicit JsonRules(Rules& rules) : rules_(rules) {}

  /// Nothing, a space, or a line end and at most 32 spaces and tabs.
  ExprId space();
  ExprId any_value();
  ExprId any_string();
  ExprId any_number();
  /// One character of a string, in every spelling.
  ExprId any_char();
  /// One character of these, spelled as it is where that is allowed, else with its shortest escape.
  ExprId char_of(const CharSet& set);
  /// A string with this content, spelled likewise, with its quotes.
  ExprId string_of(std::string_view content);
  /// This value; white space as in any other.
  ExprId value_of(const json::value& value);
  /// `"name": `, then a value.
  ExprId member(ExprId name, ExprId value);
  /// `, ` between members or elements.
  ExprId comma();

 private:
  ExprId cached(std::string name, ExprId (JsonRules::*make)());
  ExprId make_space();
  ExprId make_value();
  ExprId make_string();
  ExprId make_number();
  ExprId make_escape();
  /// `open` (element (, element)*)? `close`.
  ExprId list(char open, ExprId element, char close);
  ExprId escapes_of(const CharSet& set);

  Rules& rules_;
  std::map<std::string, RuleId> made_;
  std::map<std::string, RuleId> escapes_;
  std::optional<ExprId> any_char_;
};

}  // namespace kvern::text::grammar
