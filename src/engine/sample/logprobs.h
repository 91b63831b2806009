// Log-probabilities for the caller: of the model's own distribution (softmax of the raw logits, before bias,
// penalties, filters and temperature), as OpenAI's API and vLLM's `raw_logprobs` give them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sample/params.h"

namespace kvern::engine {

/// What stands for the logarithm of a probability of 0, and the least value given, so that it is always a
/// JSON number. OpenAI's API has the same figure.
inline constexpr float kLogprobFloor = -9999.0F;

struct TokenLogprob {
  TokenId token = 0;
  float logprob = kLogprobFloor;
  bool operator==(const TokenLogprob&) const = default;
};

/// The distribution of one position, kept while its logits are changed.
class RawLogprobs {
 public:
  /// `logits` [vocabulary]: no NaN, no +infinity, at least one above -infinity. Keeps no reference.
  RawLogprobs(std::span<const float> logits, size_t top_count);
  /// The most likely tokens, falling, equal ones by rising id; as many as asked for or as there are.
  const std::vector<TokenLogprob>& top() const { return top_; }
  /// The log-probability of a token with this raw logit.
  float of(float raw_logit) const;

 private:
  // Kept apart: their sum would round away the logarithm next to a huge logit.
  double max_logit_ = 0;
  double log_total_ = 0;
  std::vector<TokenLogprob> top_;
};

}  // namespace kvern::engine
