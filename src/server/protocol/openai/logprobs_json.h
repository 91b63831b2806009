// Log-probabilities as OpenAI's two APIs write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "engine/request/request.h"
#include "text/tokenizer.h"

namespace kvern::server::openai {

/// Chat: {"token", "logprob", "bytes", "top_logprobs": [{"token", "logprob", "bytes"}]}. `bytes` are exact,
/// also where a token is only a part of a character.
json::object chat_logprob(const engine::TokenLogprobs& logprobs, const text::Tokenizer& tokenizer);

/// Completions: four arrays of the same length, filled token by token.
class CompletionLogprobs {
 public:
  /// `offset`: characters of the text before the first token.
  CompletionLogprobs(const text::Tokenizer& tokenizer, int64_t offset)
      : tokenizer_(tokenizer), offset_(offset) {}
  void add(const engine::TokenLogprobs& logprobs);
  /// A token whose probability nobody knows: the first of a prompt.
  void add_first(engine::TokenId token);
  /// {"tokens", "token_logprobs", "top_logprobs", "text_offset"} of what was added since the last call; null
  /// when that is nothing.
  json::value take();

 private:
  void add_token(engine::TokenId token);

  const text::Tokenizer& tokenizer_;
  int64_t offset_;
  json::array tokens_, token_logprobs_, top_logprobs_, text_offset_;
};

/// Characters of valid UTF-8.
int64_t count_characters(std::string_view text);

}  // namespace kvern::server::openai
