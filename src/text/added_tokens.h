// Added tokens: literals that are looked for in the text before anything else, as Hugging Face's
// AddedVocabulary does.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/range.h"
#include "text/token.h"
#include "text/trie.h"

namespace kvern::text {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special = false;      ///< Left out of decoded text on request, and of text from users.
  bool normalized = false;   ///< Looked for in the normalized text, else in the text as it is.
  bool single_word = false;  ///< Only where no word character touches it.
  bool lstrip = false;       ///< Takes the white space before it.
  bool rstrip = false;       ///< Takes the white space after it.
};

/// A stretch of text, or a token in its place.
struct Segment {
  Range range;
  TokenId token = -1;  ///< -1: text.
};

/// Which literals of special tokens become these tokens.
struct SpecialParsing {
  bool enabled = false;
  std::span<const Range> plain = {};  ///< Stretches of the text in which they never do; in order.

  /// Takes time logarithmic in the number of stretches.
  bool allows(Range literal) const;
};

/// Finds a set of added tokens. At each place the longest literal wins (leftmost-longest). Immutable once
/// filled.
class AddedTokenMatcher {
 public:
  /// `literal` is the content, or its normalized form for a token that is looked for in normalized text.
  void add(const AddedToken& token, std::string_view literal);
  bool empty() const { return tokens_.empty(); }

  /// Covers `text` in order; text segments are not empty. Literals of special tokens that are not to be
  /// parsed stay text; when none is, what such a literal covers is not looked at again for other tokens, like
  /// in the reference.
  std::vector<Segment> split(std::string_view text, const SpecialParsing& parsing) const;

 private:
  Trie trie_;  ///< Values are indices into tokens_.
  std::vector<AddedToken> tokens_;
};

}  // namespace kvern::text
