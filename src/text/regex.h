// Regular expressions of tokenizers: Oniguruma's dialect as Hugging Face's `tokenizers` uses it, run by
// PCRE2.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/range.h"

namespace kvern::text {

/// A compiled pattern. Immutable, thread-safe.
class Regex {
 public:
  /// Errors (kUnsupported, kCorrupt) quote the pattern and carry `where`.
  static Result<Regex> compile(std::string_view pattern, const std::string& where);

  /// All matches in `text`, which must be valid UTF-8, left to right, none overlapping; an empty match
  /// directly after the one before is left out. Where a pattern would take exponential time, matching stops
  /// and the rest of the text has no match.
  std::vector<Range> find_all(std::string_view text) const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

/// The pattern in PCRE2's dialect: the escapes whose meaning differs are spelt out as sets of characters.
/// Errors for what has no counterpart (nested sets, intersections). Exposed for tests.
Result<std::string> translate_pattern(std::string_view pattern, const std::string& where);

}  // namespace kvern::text
