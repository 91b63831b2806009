// Reads GBNF, the notation for grammars of llama.cpp (grammars/README.md there).
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace kvern::text::grammar {

struct GbnfNames {
  /// Rules that are defined elsewhere, by name: nothing where there is no such rule.
  std::function<std::optional<RuleId>(std::string_view name)> rule;
  /// The token that is spelled so.
  std::function<std::optional<TokenId>(std::string_view spelling)> token;
  /// Whether it ends a generation.
  std::function<bool(TokenId token)> ends;
  /// Token ids are below this.
  size_t tokens = 0;
};

/// Parses a whole grammar; the root rule is "root". `rules` may hold rules already, those that `names` knows.
/// Errors (kInvalidArgument): line, column, rule and what was expected. Limits: 1 MiB, 10,000 rules, groups
/// 200 deep, repetitions of 100,000.
Result<RuleId> parse_gbnf(std::string_view text, const GbnfNames& names, Rules& rules);

}  // namespace kvern::text::grammar
