// Samples the tokens of a step, each row by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compute/context.h"
#include "engine/loop/row.h"
#include "engine/sample/sample.h"

namespace kvern::engine {

/// One token to be sampled.
struct SampleTask {
  Row* row = nullptr;
  std::span<float> logits;  ///< [vocab]; changed, unless they are shared
  bool shared = false;      ///< other tasks read the same logits: the choices of one prompt
  Result<SampledToken> token;
  std::optional<uint64_t> hash;  ///< of the logits, with hash_logits
};

/// Fills in what is sampled. Tasks whose token is an error already are left alone. What a row gets depends on
/// its logits and itself alone; rows are spread over the threads where that pays.
void sample_rows(compute::Context& context, std::span<SampleTask> tasks);

/// The log-probabilities of tokens of a prompt, each under the logits of the position before: `logits`
/// [targets.size(), vocab] is only read. kCorrupt for a NaN or +infinity among them.
Result<std::vector<TokenLogprobs>> prompt_logprobs(compute::Context& context, std::span<const float> logits,
                                                   std::span<const TokenId> targets, uint32_t top_count);

}  // namespace kvern::engine
