// Cutting normalized text into pieces that no token crosses: the `pre_tokenizer` of tokenizer.json.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "text/regex.h"
#include "text/replacement.h"

namespace kvern::text {

/// What becomes of the matches of a splitting pattern.
enum class SplitBehavior : uint8_t { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Classes of characters that some pre-tokenizers split at.
enum class CharacterClass : uint8_t { kWhiteSpace, kNumeric, kPunctuation };

struct SplitStep {
  std::variant<Pattern, CharacterClass> pattern;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  ///< What does not match is what splits.
};

/// Puts a space before each piece that does not begin with one.
struct PrefixSpaceStep {};

/// Spells bytes as printable characters (byte_level.h).
struct ByteLevelStep {};

enum class PrependScheme : uint8_t { kAlways, kFirst, kNever };

/// SentencePiece's white space: a visible character for each space, also before the text, and pieces that
/// begin with it.
struct MetaspaceStep {
  std::string replacement = "\u2581";
  PrependScheme scheme = PrependScheme::kAlways;
  bool split = true;
};

using PreTokenizerStep = std::variant<SplitStep, PrefixSpaceStep, ByteLevelStep, MetaspaceStep>;

/// Pieces of a text, in order.
struct Pieces {
  std::string text;
  std::vector<Range> ranges;  ///< In `text`; none is empty.
  bool at_start = true;       ///< `text` begins where the input of the tokenizer begins.
};

/// Steps in order. Immutable, thread-safe.
class PreTokenizer {
 public:
  void add(PreTokenizerStep step);
  /// `text` is one piece at first.
  Pieces split(std::string text, bool at_start) const;
  /// True when escaped bytes (characters.h) go through unchanged: no step looks into characters.
  bool keeps_escaped_bytes() const;

 private:
  std::vector<PreTokenizerStep> steps_;
};

}  // namespace kvern::text
