#include "engine/sample/sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "base/check.h"
#include "engine/sample/candidates.h"
#include "engine/sample/filters.h"
#include "engine/sample/philox.h"
#include "engine/sample/portable_math.h"

namespace kvern::engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The largest logit, and whether one is NaN or +infinity. In lanes, so that the compiler can use vectors; a
/// maximum is exact in any order.
struct Scan {
  float largest = -kInfinity;
  bool bad = false;
};

Scan scan(std::span<const float> logits) {
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> largest;
  largest.fill(-kInfinity);
  std::array<uint32_t, kLanes> bad{};
  const auto visit = [&](size_t lane, float logit) {
    largest[lane] = logit > largest[lane] ? logit : largest[lane];
    bad[lane] |= static_cast<uint32_t>(!(logit < kInfinity));
  };
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) visit(lane, logits[i + lane]);
  for (; i < logits.size(); ++i) visit(0, logits[i]);
  return {.largest = std::ranges::max(largest), .bad = std::ranges::count(bad, 0U) != kLanes};
}

Status check_logits(std::span<const float> logits) {
  const auto [largest, bad] = scan(logits);
  if (bad) {
    const auto at = std::ranges::find_if(logits, [](float logit) { return !(logit < kInfinity); });
    return fail(ErrorCode::kCorrupt,
                fmt::format("the model gave {} as the logit of token {}: a weight is damaged, or a value too "
                            "large for the type of the KV cache",
                            std::isnan(*at) ? "NaN" : "+infinity", at - logits.begin()));
  }
  if (largest == -kInfinity)
    return fail(ErrorCode::kInvalidArgument, "no token can be sampled: all logits are -infinity");
  return Ok{};
}

TokenId largest(std::span<const float> logits) {
  // The first of equal logits, that is the one with the lowest id.
  return static_cast<TokenId>(std::ranges::find(logits, scan(logits).largest) - logits.begin());
}

Candidates filtered(std::span<const float> logits, const SamplingParams& params, double xtc_draw) {
  const auto min_keep = static_cast<size_t>(params.min_keep);
  Candidates candidates = params.top_k > 0
                              ? Candidates::top(logits, std::max(static_cast<size_t>(params.top_k), min_keep))
                              : Candidates::all(logits);
  keep_typical(candidates, {.p = params.typical_p, .min_keep = min_keep});
  keep_top_p(candidates, {.p = params.top_p, .min_keep = min_keep});
  keep_min_p(candidates, {.p = params.min_p, .min_keep = min_keep});
  exclude_top_choices(candidates, {.probability = params.xtc_probability,
                                   .threshold = params.xtc_threshold,
                                   .min_keep = min_keep,
                                   .draw = xtc_draw});
  return candidates;
}

/// Inverts the cumulative distribution over rising ids at `draw`.
TokenId pick(Candidates& candidates, double temperature, double draw) {
  candidates.sort_by_token();
  std::vector<double> cumulative(candidates.size());
  double sum = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    // The maximum is subtracted first: 0 divided by the smallest temperature is still 0.
    sum += portable_exp((double{candidates[i].logit} - double{candidates.max_logit()}) / temperature);
    cumulative[i] = sum;
  }
  // The most likely candidate has weight 1, so sum is at least 1, and draw * sum rounds to less than sum or
  // to sum itself; then the first candidate that reaches the sum, which has a weight above 0, is the one.
  const double target = draw * sum;
  auto chosen = std::ranges::upper_bound(cumulative, target);
  if (chosen == cumulative.end()) chosen = std::ranges::lower_bound(cumulative, sum);
  return candidates[static_cast<size_t>(chosen - cumulative.begin())].token;
}

float raw_logit(std::span<const float> logits, TokenId token, std::span<const OriginalLogit> originals) {
  const auto found = std::ranges::lower_bound(originals, token, {}, &OriginalLogit::token);
  if (found != originals.end() && found->token == token) return found->logit;
  return logits[static_cast<size_t>(token)];
}

std::unexpected<Error> nothing_left(const SampleContext& context) {
  if (context.allowed == nullptr)
    return fail(ErrorCode::kInvalidArgument, "no token can be sampled: the biases ban all of them",
                "logit_bias");
  return fail(ErrorCode::kInvalidArgument,
              "no token can be sampled: the model or the biases ban all that the grammar allows", "grammar");
}

}  // namespace

Result<SampledToken> sample(std::span<float> logits, const SamplingParams& params,
                            const SampleContext& context) {
  KVERN_TRY_STATUS(check_logits(logits));
  std::optional<RawLogprobs> raw;
  if (params.top_logprobs) raw.emplace(logits, *params.top_logprobs);
  const auto originals = adjust_logits(logits, params, context);
  if (context.allowed != nullptr) keep_allowed(logits, *context.allowed);
  const TokenId best = largest(logits);
  if (logits[static_cast<size_t>(best)] == -kInfinity) return nothing_left(context);

  SampledToken result{.token = best};
  if (params.temperature > 0) {
    const PositionDraw draw = draw_for_position(params.seed, context.position);
    Candidates candidates = filtered(logits, params, draw.xtc);
    result.token = pick(candidates, params.temperature, draw.token);
  }
  if (raw) {
    result.logprob = raw->of(raw_logit(logits, result.token, originals));
    result.top = raw->top();
  }
  return result;
}

}  // namespace kvern::engine
