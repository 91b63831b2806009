// From the logits of one position to one token.
//
// The order is llama.cpp's documented default: logit bias, penalties (repeat, then frequency and presence),
// what the grammar allows, top_k, typical_p, top_p, min_p, XTC, temperature, draw. With temperature 0 the
// largest logit after the penalties is taken and nothing is drawn. Everything is scalar double arithmetic of
// our own in a fixed order, so a result is the same on every CPU, in every batch and at every time; it
// depends on the arguments alone.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/sample/adjust.h"
#include "engine/sample/logprobs.h"
#include "engine/sample/params.h"

namespace kvern::engine {

struct SampledToken {
  TokenId token = 0;
  /// With `SamplingParams::top_logprobs`: of `token`.
  std::optional<float> logprob;
  /// With `SamplingParams::top_logprobs`: the most likely tokens, whether `token` is one of them or not.
  std::vector<TokenLogprob> top;
};

/// Samples one token. `logits` [vocabulary] is the model's output and scratch: it is changed. `params` must
/// have passed `validate` for this vocabulary. Thread-safe.
///
/// Errors: kCorrupt for a NaN or +infinity among the logits (weights or state that no model should have);
/// kInvalidArgument if no token is left because the logits, the biases or the grammar ban all of them. Both
/// concern this row only.
Result<SampledToken> sample(std::span<float> logits, const SamplingParams& params,
                            const SampleContext& context);

}  // namespace kvern::engine
