// What can be asked of the engine, and what comes back: plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sample/params.h"
#include "engine/sample/sample.h"

namespace kvern::engine {

/// One generation. Valid when max_new_tokens >= 0 and validate(sampling, vocabulary) holds.
struct GenerateRequest {
  std::vector<TokenId> prompt;  ///< at least one token
  int64_t max_new_tokens = 128;
  SamplingParams sampling;
  /// The text ends before the first of these; they are not part of it. Needs a tokenizer.
  std::vector<std::string> stop;
  /// End-of-generation tokens are sampled like others and do not end the row.
  bool ignore_end_tokens = false;
  /// A hash of each sampled position's logits, for comparing runs bit by bit.
  bool hash_logits = false;
};

enum class FinishReason : uint8_t {
  kStop,       ///< an end-of-generation token or a stop string
  kLength,     ///< max_new_tokens, or the context is full
  kCancelled,  ///< the caller's wish
};

/// The model's own log-probabilities at one new token.
struct TokenLogprobs {
  TokenId token = 0;
  float logprob = 0;
  std::vector<TokenLogprob> top;  ///< the most likely ones, falling
};

/// "stop", "length", "cancelled".
std::string_view to_string(FinishReason reason);

/// Called on the engine's thread, between steps. All are optional.
struct GenerateEvents {
  /// Complete UTF-8 text, in order; all pieces joined are the result's text.
  std::function<void(std::string_view text)> on_text;
  /// Prompt tokens computed so far, and in all.
  std::function<void(int64_t done, int64_t total)> on_prefill;
  /// True stops before the next step.
  std::function<bool()> is_cancelled;
};

struct GenerateTimings {
  double prefill_ms = 0;  ///< from the first prompt token to the first sampled token
  double decode_ms = 0;   ///< all further tokens
};

struct GenerateResult {
  std::vector<TokenId> ids;  ///< the new ones; an end-of-generation token that ended the row is the last
  std::string text;          ///< empty without a tokenizer
  FinishReason finish_reason = FinishReason::kLength;
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;    ///< of the prompt, taken from the row's state instead of computed
  int64_t computed_tokens = 0;  ///< of the prompt; not all the others if cancelled meanwhile
  GenerateTimings timings;
  std::vector<TokenLogprobs> logprobs;  ///< one for each new token if sampling.top_logprobs is set
  std::vector<uint64_t> logit_hashes;   ///< XXH3 of the f32 bits of each new token's logits, if asked for
};

}  // namespace kvern::engine
