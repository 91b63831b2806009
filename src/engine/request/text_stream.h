// From sampled ids to text that may be shown: incremental detokenising and stop strings in one place.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/sample/stop_matcher.h"
#include "text/tokenizer.h"

namespace kvern::engine {

/// The text of one generation. Without a tokenizer it is always empty. One thread.
class TextStream {
 public:
  /// `tokenizer` may be null and outlives the stream. The text continues that of `prompt`: a first token that
  /// begins with a space keeps it. Errors: those of the stop strings.
  static Result<TextStream> create(const text::Tokenizer* tokenizer, std::span<const TokenId> prompt,
                                   const std::vector<std::string>& stops);
  /// Complete UTF-8 that cannot be part of a stop string any more.
  std::string push(TokenId token);
  /// What was held back; nothing after a stop string.
  std::string finish();
  /// As StreamDecoder::memory(); empty without a tokenizer.
  std::span<const text::Decoder::StepState> memory() const {
    return decoder_ ? decoder_->memory() : std::span<const text::Decoder::StepState>();
  }
  bool stopped() const { return matcher_.matched().has_value(); }
  /// Which of the stop strings ended it.
  std::optional<size_t> matched() const { return matcher_.matched(); }

 private:
  std::optional<text::StreamDecoder> decoder_;
  StopMatcher matcher_;
};

}  // namespace kvern::engine
