#include "engine/sample/logprobs.h"

#include <algorithm>

#include "engine/sample/candidates.h"
#include "engine/sample/portable_math.h"

namespace kvern::engine {

RawLogprobs::RawLogprobs(std::span<const float> logits, size_t top_count) {
  max_logit_ = std::ranges::max(logits);
  double total = 0;
  for (const float logit : logits) total += portable_exp(double{logit} - max_logit_);
  log_total_ = portable_log(total);
  if (top_count == 0) return;
  const Candidates top = Candidates::top(logits, top_count);
  for (const Candidate& candidate : top.items()) top_.push_back({candidate.token, of(candidate.logit)});
}

float RawLogprobs::of(float raw_logit) const {
  return std::max(static_cast<float>(double{raw_logit} - max_logit_ - log_total_), kLogprobFloor);
}

}  // namespace kvern::engine
