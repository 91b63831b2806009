#include "engine/sample/adjust.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"

namespace kvern::engine {
namespace {

/// How often one token occurs in the window of the penalties.
struct Count {
  TokenId token = 0;
  uint32_t in_history = 0;
  uint32_t in_additive_scope = 0;
};

bool penalties_are_off(const SamplingParams& params) {
  return params.repeat_last_n == 0 || (params.repeat_penalty == 1.0F && params.presence_penalty == 0.0F &&
                                       params.frequency_penalty == 0.0F);
}

/// Counts of the tokens in the newest `repeat_last_n` of the history, by ascending token.
std::vector<Count> count_window(const SamplingParams& params, const SampleContext& context) {
  const size_t size = context.history.size();
  size_t first = 0;
  if (params.repeat_last_n != kWholeHistory)
    first = size - std::min(size, static_cast<size_t>(params.repeat_last_n));
  std::vector<Count> counts;
  counts.reserve(size - first);
  for (size_t i = first; i < size; ++i) {
    const bool additive = params.additive_scope == PenaltyScope::kHistory || i >= context.prompt_tokens;
    counts.push_back({.token = context.history[i], .in_history = 1, .in_additive_scope = additive ? 1U : 0U});
  }
  std::ranges::sort(counts, {}, &Count::token);
  size_t kept = 0;
  for (const Count& count : counts) {
    if (kept > 0 && counts[kept - 1].token == count.token) {
      ++counts[kept - 1].in_history;
      counts[kept - 1].in_additive_scope += count.in_additive_scope;
    } else {
      counts[kept++] = count;
    }
  }
  counts.resize(kept);
  return counts;
}

/// -infinity (a banned token) stays; a finite value that no float holds becomes the nearest one.
float to_finite(double value) {
  if (value == -std::numeric_limits<double>::infinity()) return -std::numeric_limits<float>::infinity();
  constexpr double kMax = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kMax, kMax));
}

float penalised(float logit, const SamplingParams& params, const Count& count) {
  const double repeat = params.repeat_penalty;
  double value = logit <= 0 ? logit * repeat : logit / repeat;
  if (count.in_additive_scope > 0)
    value -= double{params.frequency_penalty} * count.in_additive_scope + double{params.presence_penalty};
  return to_finite(value);
}

/// Keeps the first, that is the oldest, entry of each token.
void keep_first_of_each(std::vector<OriginalLogit>& originals) {
  std::ranges::stable_sort(originals, {}, &OriginalLogit::token);
  const auto rest = std::ranges::unique(originals, {}, &OriginalLogit::token);
  originals.erase(rest.begin(), rest.end());
}

}  // namespace

std::vector<OriginalLogit> adjust_logits(std::span<float> logits, const SamplingParams& params,
                                         const SampleContext& context) {
  KVERN_CHECK(context.prompt_tokens <= context.history.size());
  std::vector<OriginalLogit> originals;
  for (const auto& [token, bias] : params.logit_bias) {
    float& logit = logits[static_cast<size_t>(token)];
    originals.push_back({token, logit});
    logit = to_finite(double{logit} + bias);
  }
  if (!penalties_are_off(params)) {
    for (const Count& count : count_window(params, context)) {
      if (count.token < 0 || static_cast<size_t>(count.token) >= logits.size()) continue;
      float& logit = logits[static_cast<size_t>(count.token)];
      originals.push_back({count.token, logit});
      logit = penalised(logit, params, count);
    }
  }
  keep_first_of_each(originals);
  return originals;
}

void keep_allowed(std::span<float> logits, const text::TokenMask& allowed) {
  constexpr float kBanned = -std::numeric_limits<float>::infinity();
  constexpr size_t kBits = 64;
  for (size_t first = 0; first < logits.size(); first += kBits) {
    const auto block = logits.subspan(first, std::min(kBits, logits.size() - first));
    const uint64_t word = first / kBits < allowed.size() ? allowed[first / kBits] : 0;
    if (word == 0) {
      std::ranges::fill(block, kBanned);
      continue;
    }
    for (uint64_t banned = ~word; banned != 0; banned &= banned - 1) {
      const auto bit = static_cast<size_t>(std::countr_zero(banned));
      if (bit >= block.size()) break;
      block[bit] = kBanned;
    }
  }
}

}  // namespace kvern::engine
