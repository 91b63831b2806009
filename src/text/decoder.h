// From tokens back to text, one token at a time: the `decoder` of tokenizer.json as a chain of steps with
// state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/replacement.h"

namespace kvern::text {

/// Characters back to the bytes that they stand for (byte_level.h); bytes that are not UTF-8 become U+FFFD.
/// What follows sees one text.
struct DecodeByteLevel {};
/// Byte tokens ("<0x0A>") to bytes; each byte that belongs to no character becomes U+FFFD.
struct DecodeByteFallback {};
/// What follows sees one text, not tokens.
struct DecodeFuse {};
/// Replaces in each token; after a fusing step only a pattern of one character can be replaced.
struct DecodeReplace {
  Replacement replacement;
};
/// Removes up to so many of one character at the ends of each token, or of the one text.
struct DecodeStrip {
  std::string character = " ";
  size_t start = 0;
  size_t stop = 0;
};
/// SentencePiece's visible space to a space; in the first token to nothing unless `keep_first`.
struct DecodeMetaspace {
  std::string replacement = "\u2581";
  bool keep_first = false;
};
/// A space between tokens: what the reference does where there is no decoder.
struct DecodeJoinWithSpaces {};

using DecoderStep = std::variant<DecodeByteLevel, DecodeByteFallback, DecodeFuse, DecodeReplace, DecodeStrip,
                                 DecodeMetaspace, DecodeJoinWithSpaces>;

/// Steps in order. Immutable once filled, thread-safe.
class Decoder {
 public:
  /// What one step remembers between tokens.
  struct StepState {
    std::string pending;      ///< Bytes that are not yet a character, or characters that may be stripped.
    size_t seen = 0;          ///< Tokens (or, after a fusing step, leading characters stripped).
    bool past_start = false;  ///< Something that cannot be stripped has passed.
  };
  /// One text in the making. One thread.
  struct State {
    std::vector<StepState> steps;
  };

  void add(DecoderStep step);
  /// True when tokens are spelled in byte_level.h's characters.
  bool maps_bytes() const;
  /// What tokens have in place of a space; empty when they have spaces.
  std::string space_mark() const;
  State start() const { return State{.steps = std::vector<StepState>(steps_.size())}; }
  /// The text that is certain now that `token` has come: whole characters of valid UTF-8.
  std::string push(State& state, std::string_view token) const;
  /// The rest: what was held back, with U+FFFD for bytes that never became a character.
  std::string finish(State& state) const;

 private:
  struct Entry {
    DecoderStep step;
    bool fused = false;  ///< Its input is one text that comes in parts.
  };
  /// Takes one token through the steps from `from` on.
  void run(State& state, size_t from, std::string token, std::string& out) const;

  std::vector<Entry> steps_;
  bool fused_ = false;
};

}  // namespace kvern::text
