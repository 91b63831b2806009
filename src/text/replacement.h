// "Replace a pattern by a text", which normalizers, pre-tokenizers and decoders of tokenizer.json share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/regex.h"

namespace kvern::text {

/// A literal or a regular expression to look for. Immutable, thread-safe.
struct Pattern {
  std::string literal;
  std::optional<Regex> regex;  ///< When set, `literal` is not used.

  /// All matches, left to right, none overlapping. An empty literal matches nothing.
  std::vector<Range> find_all(std::string_view text) const;
};

struct Replacement {
  Pattern pattern;
  std::string content;

  std::string apply(std::string_view text) const;
};

}  // namespace kvern::text
