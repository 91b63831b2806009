// What a user can ask of the sampler. Names and defaults are llama.cpp's; temperature, top_p, the presence
// and frequency penalties and logit_bias also mean what OpenAI's API says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "text/token.h"

namespace kvern::engine {

using text::TokenId;

/// Added to the logit of one token before all else. -infinity bans the token.
struct LogitBias {
  TokenId token = 0;
  float bias = 0;
};

/// Which tokens the presence and frequency penalties count.
enum class PenaltyScope : uint8_t {
  kHistory,    ///< Prompt and generated tokens (llama.cpp).
  kGenerated,  ///< Generated tokens only (OpenAI: "how often it was sampled").
};

/// The seed when the caller gives none. A front end that wants variety draws one and shows it.
inline constexpr uint64_t kDefaultSeed = 0;
/// `repeat_last_n`: all of the history.
inline constexpr int32_t kWholeHistory = -1;

/// A plain value; each row of a batch has its own.
struct SamplingParams {
  /// 0 is greedy: the largest logit after bias and penalties, the filters and XTC do not apply.
  float temperature = 0.8F;
  /// Keeps the k most likely tokens; 0 keeps all.
  int32_t top_k = 40;
  /// Keeps the shortest list of the most likely tokens whose probabilities add up to at least p; 1 keeps all.
  float top_p = 0.95F;
  /// Keeps the tokens at least this many times as likely as the most likely one; 0 keeps all.
  float min_p = 0.05F;
  /// Locally typical sampling (Meister et al. 2022): keeps the tokens whose surprise is nearest to the
  /// entropy until their probabilities add up to more than this; 1 keeps all.
  float typical_p = 1.0F;
  /// top_p, min_p and typical_p leave at least this many tokens.
  int32_t min_keep = 0;

  /// Divides the positive and multiplies the negative logit of each token seen (Keskar et al. 2019); 1 is
  /// off.
  float repeat_penalty = 1.0F;
  /// How many of the newest tokens the three penalties look at; 0 is none, kWholeHistory is all.
  int32_t repeat_last_n = 64;
  /// Taken once from the logit of each token seen.
  float presence_penalty = 0.0F;
  /// Taken from the logit as often as the token was seen.
  float frequency_penalty = 0.0F;
  PenaltyScope additive_scope = PenaltyScope::kHistory;

  /// Exclude Top Choices: with this chance, all tokens of at least xtc_threshold except the least likely of
  /// them are dropped. A threshold above 0.5 can never have two such tokens, and so is off.
  float xtc_probability = 0.0F;
  float xtc_threshold = 0.1F;

  /// Tokens named twice get both biases.
  std::vector<LogitBias> logit_bias;
  uint64_t seed = kDefaultSeed;
  /// When set, the result has the log-probability of the token and of this many most likely tokens.
  std::optional<uint32_t> top_logprobs;
};

/// Errors (kInvalidArgument, `where` is the name of the parameter): a value out of its range or not a number,
/// a bias for a token outside the vocabulary.
Status validate(const SamplingParams& params, size_t vocabulary_size);

}  // namespace kvern::engine
