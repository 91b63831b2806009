// SentencePiece's compiled normalization rules: `precompiled_charsmap`, a double-array trie followed by the
// texts that replace what it finds.
//
// Format (sentencepiece, normalizer.cc; all little endian): u32 size of the trie in bytes, the trie's units
// (u32, the layout of Darts-clone), then zero-terminated replacement texts that the trie's values are offsets
// into.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvern::text {

/// Immutable, thread-safe.
class CharacterMap {
 public:
  enum class Matching : uint8_t {
    kGraphemes,  ///< Hugging Face: whole grapheme clusters below 6 bytes, else single characters.
    kLongest,    ///< SentencePiece: the longest rule at each place.
  };

  /// `blob` is the raw content, not base64. Errors (kCorrupt) carry `where`.
  static Result<CharacterMap> parse(std::string_view blob, Matching matching, const std::string& where);

  std::string apply(std::string_view text) const;

 private:
  struct Rule {
    size_t length = 0;  ///< Bytes of text that it covers.
    std::string_view replacement;
  };
  enum class Which : uint8_t { kShortest, kLongest };

  /// The shortest or longest rule whose left side begins `text`.
  std::optional<Rule> find(std::string_view text, Which which) const;
  std::string apply_longest(std::string_view text) const;
  std::string apply_graphemes(std::string_view text) const;
  void append_grapheme(std::string& out, std::string_view grapheme) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
  Matching matching_ = Matching::kLongest;
};

}  // namespace kvern::text
