#include "engine/sample/filters.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
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

/// Drops the candidates whose weight is below `least`, unless fewer than `min_keep` would be left. All n
/// candidates below (1 - p) / n of the total have less than 1 - p of it together, so the nucleus needs none
/// of them; what is left to sort is short.
void drop_tail(Candidates& candidates, double least, size_t min_keep) {
  if (least <= 0) return;
  const double lowest = double{candidates.max_logit()} + portable_log(least);
  std::vector<uint8_t> keep(candidates.size());
  std::ranges::transform(candidates.items(), keep.begin(),
                         [lowest](const Candidate& candidate) { return candidate.logit >= lowest ? 1 : 0; });
  if (static_cast<size_t>(std::ranges::count(keep, 1)) >= std::max<size_t>(min_keep, 1))
    candidates.keep_flagged(keep);
}

}  // namespace

void keep_typical(Candidates& candidates, const TypicalOptions& options) {
  if (options.p >= 1 || candidates.size() < 2) return;
  const auto [log_p, entropy] = log_probabilities(candidates);
  struct Entry {
    double distance;
    size_t index;
  };
  std::vector<Entry> order(log_p.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = {std::abs(-log_p[i] - entropy), i};
  std::ranges::sort(order, [&candidates](const Entry& a, const Entry& b) {
    if (a.distance != b.distance) return a.distance < b.distance;
    return is_likelier(candidates[a.index], candidates[b.index]);
  });
  std::vector<uint8_t> keep(log_p.size(), 0);
  double sum = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    keep[order[i].index] = 1;
    sum += portable_exp(log_p[order[i].index]);
    if (sum > options.p && i + 1 >= options.min_keep) break;
  }
  candidates.keep_flagged(keep);
}

void keep_top_p(Candidates& candidates, const TopPOptions& options) {
  if (options.p >= 1 || candidates.size() < 2) return;
  const double total = candidates.total_weight();
  const double wanted = options.p * total;
  drop_tail(candidates, (total - wanted) / static_cast<double>(candidates.size()), options.min_keep);
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
