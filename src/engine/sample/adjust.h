// Changes of single logits before any token is dropped: logit bias, the penalties for repetition, and what a
// grammar allows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sample/params.h"
#include "text/grammar/token_mask.h"

namespace kvern::engine {

/// What a row has seen: borrowed from its sequence, so that it is the same whether a token was computed, came
/// from a cache or was restored.
struct SampleContext {
  /// Prompt and generated tokens in order.
  std::span<const TokenId> history;
  /// How many tokens at the start of `history` are the prompt.
  size_t prompt_tokens = 0;
  /// 0-based position of the token to be sampled: with the seed, all that the random numbers depend on.
  uint64_t position = 0;
  /// What a grammar allows here; all tokens if null.
  const text::TokenMask* allowed = nullptr;
};

/// The logit that a token had before it was changed.
struct OriginalLogit {
  TokenId token = 0;
  float logit = 0;
};

/// Adds the biases, then applies the penalties, in `logits` ([vocabulary]; no NaN, no +infinity). Finite
/// logits stay finite: what would overflow becomes the largest float. Returns the originals of all changed
/// logits, by ascending token. `params` must be valid; tokens of the history outside of the vocabulary are
/// ignored.
std::vector<OriginalLogit> adjust_logits(std::span<float> logits, const SamplingParams& params,
                                         const SampleContext& context);

/// Bans every token that is not in `allowed`: its logit becomes -infinity.
void keep_allowed(std::span<float> logits, const text::TokenMask& allowed);

}  // namespace kvern::engine
