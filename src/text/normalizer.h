// Normalization of text before it is cut into tokens: the `normalizer` of tokenizer.json.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/character_map.h"
#include "text/replacement.h"

namespace kvern::text {

enum class UnicodeForm : uint8_t { kNfc, kNfd, kNfkc, kNfkd };

/// Puts a text before any text that is not empty.
struct Prepend {
  std::string text;
};
/// Each character to its lower case, without regard to its neighbours.
struct Lowercase {};
/// Removes combining marks.
struct StripAccents {};
/// Removes white space at the ends.
struct StripSpace {
  bool left = true;
  bool right = true;
};
/// Removes control characters and makes a space of every kind of white space (SentencePiece's "nmt" rule).
struct Nmt {};
/// Maps each byte to a printable character (byte_level.h).
struct BytesToCharacters {};
/// Makes one space of several, and none at the ends (SentencePiece's remove_extra_whitespaces).
struct RemoveExtraSpaces {};

using NormalizerStep = std::variant<UnicodeForm, Prepend, Replacement, Lowercase, StripAccents, StripSpace,
                                    Nmt, BytesToCharacters, RemoveExtraSpaces, CharacterMap>;

/// Steps in order. Immutable, thread-safe.
class Normalizer {
 public:
  void add(NormalizerStep step);
  bool empty() const { return steps_.empty(); }
  /// True when escaped bytes (characters.h) go through unchanged: no step looks into characters.
  bool keeps_escaped_bytes() const;
  std::string apply(std::string text) const;

 private:
  std::vector<NormalizerStep> steps_;
};

}  // namespace kvern::text
