#include "engine/sample/filters.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/sample/portable_math.h"

namespace kvern::engine {
namespace {

/// Natural logarithms of the probabilities, and their entropy in nats.
struct LogProbabilities {
  std::vector<double> values;
  double entropy = 0;
};

LogProbabilities log_probabilities(const Candidates& candidates) {
  LogProbabilities result;
  const double log_total = portable_log(candidates.total_weight());
  result.values.reserve(candidates.size());
  for (const Candidate& candidate : candidates.items()) {
    const double value = double{candidate.logit} - double{candidates.max_logit()} - log_total;
    result.values.push_back(value);
    result.entropy -= portable_exp(value) * value;
  }
  return result;
}

}  // namespace

void keep_typical(Candidates& candidates, const TypicalOptions& options) {
  if (options.p >= 1 || candidates.size() < 2) return;
  const auto [log_p, entropy] = log_probabilities(candidates);
  std::vector<double> distance(log_p.size());
  for (size_t i = 0; i < log_p.size(); ++i) distance[i] = std::abs(-log_p[i] - entropy);
  std::vector<uint32_t> order(log_p.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    if (distance[a] != distance[b]) return distance[a] < distance[b];
    return is_likelier(candidates[a], candidates[b]);
  });
  std::vector<uint8_t> keep(log_p.size(), 0);
  double sum = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    keep[order[i]] = 1;
    sum += portable_exp(log_p[order[i]]);
    if (sum > options.p && i + 1 >= options.min_keep) break;
  }
  candidates.keep_flagged(keep);
}

void keep_top_p(Candidates& candidates, const TopPOptions& options) {
  if (options.p >= 1 || candidates.size() < 2) return;
  const double wanted = options.p * candidates.total_weight();
  double sum = 0;
  size_t count = 0;
  while (count < candidates.size()) {
    candidates.sort_front(count + 1);
    sum += candidates.weight(count++);
    if (sum >= wanted && count >= options.min_keep) break;
  }
  candidates.keep_front(count);
}

void keep_min_p(Candidates& candidates, const MinPOptions& options) {
  if (options.p <= 0 || candidates.size() < 2) return;
  const double lowest = double{candidates.max_logit()} + portable_log(options.p);
  std::vector<uint8_t> keep(candidates.size());
  std::ranges::transform(candidates.items(), keep.begin(),
                         [lowest](const Candidate& candidate) { return candidate.logit >= lowest ? 1 : 0; });
  const auto kept = static_cast<size_t>(std::ranges::count(keep, 1));
  const size_t least = std::min(options.min_keep, candidates.size());
  if (kept >= least) return candidates.keep_flagged(keep);
  candidates.sort_front(least);
  candidates.keep_front(least);
}

void exclude_top_choices(Candidates& candidates, const XtcOptions& options) {
  if (options.draw >= options.probability || options.threshold > 0.5 || candidates.size() < 2) return;
  const double wanted = options.threshold * candidates.total_weight();
  std::vector<uint8_t> keep(candidates.size(), 1);
  size_t choices = 0;
  size_t last = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates.weight(i) < wanted) continue;
    keep[i] = 0;
    if (choices++ == 0 || is_likelier(candidates[last], candidates[i])) last = i;
  }
  if (choices < 2 || candidates.size() - (choices - 1) < options.min_keep) return;
  keep[last] = 1;
  candidates.keep_flagged(keep);
}

}  // namespace kvern::engine
