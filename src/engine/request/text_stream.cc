#include "engine/request/text_stream.h"

#include <algorithm>

namespace kvern::engine {

namespace {

// A decoder's state depends on whether text came before and on the bytes of an unfinished character: a few
// tokens of the prompt are enough to know both.
constexpr size_t kPrimingTokens = 8;

}  // namespace

Result<TextStream> TextStream::create(const text::Tokenizer* tokenizer, std::span<const TokenId> prompt,
                                      const std::vector<std::string>& stops) {
  TextStream stream;
  if (tokenizer != nullptr) {
    stream.decoder_.emplace(*tokenizer);
    for (const TokenId id : prompt.last(std::min(prompt.size(), kPrimingTokens))) stream.decoder_->push(id);
  }
  KVERN_TRY(stream.matcher_, StopMatcher::create(stops));
  return stream;
}

std::string TextStream::push(TokenId token) {
  if (!decoder_) return {};
  return matcher_.push(decoder_->push(token)).text;
}

std::string TextStream::finish() {
  if (!decoder_) return {};
  std::string text = matcher_.push(decoder_->finish()).text;
  return text + matcher_.finish();
}

}  // namespace kvern::engine
