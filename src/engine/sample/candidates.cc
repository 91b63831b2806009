#include "engine/sample/candidates.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "engine/sample/portable_math.h"

namespace kvern::engine {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
constexpr size_t kFirstFront = 64;

}  // namespace

Candidates Candidates::all(std::span<const float> logits) {
  Candidates result;
  result.items_.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i)
    if (logits[i] != kMasked) result.items_.push_back({static_cast<TokenId>(i), logits[i]});
  result.update_max();
  return result;
}

// A buffer of 2k candidates is cut back to the best k whenever it is full; the worst kept one is then the
// threshold for all later tokens, so that most of a large vocabulary costs one comparison.
Candidates Candidates::top(std::span<const float> logits, size_t k) {
  KVERN_CHECK(k > 0);
  if (k >= logits.size()) {
    Candidates result = all(logits);
    result.sort_front(result.size());
    return result;
  }
  Candidates result;
  auto& items = result.items_;
  items.reserve(2 * k);
  const auto cut = [&items, k] {
    std::nth_element(items.begin(), items.begin() + static_cast<ptrdiff_t>(k - 1), items.end(), is_likelier);
    items.resize(k);
  };
  float threshold = kMasked;
  for (size_t i = 0; i < logits.size(); ++i) {
    // A later token with an equal logit comes behind.
    if (!(logits[i] > threshold)) continue;
    items.push_back({static_cast<TokenId>(i), logits[i]});
    if (items.size() < 2 * k) continue;
    cut();
    threshold = items[k - 1].logit;
  }
  if (items.size() > k) cut();
  std::ranges::sort(items, is_likelier);
  result.sorted_ = items.size();
  result.update_max();
  return result;
}

double Candidates::weight(size_t index) const {
  return portable_exp(double{items_[index].logit} - double{max_logit_});
}

double Candidates::total_weight() const {
  double total = 0;
  for (size_t i = 0; i < items_.size(); ++i) total += weight(i);
  return total;
}

void Candidates::sort_front(size_t count) {
  count = std::min(count, items_.size());
  if (count <= sorted_) return;
  const size_t wanted = std::min(items_.size(), std::max({count, 4 * sorted_, kFirstFront}));
  const auto at = [this](size_t index) { return items_.begin() + static_cast<ptrdiff_t>(index); };
  if (wanted < items_.size()) std::nth_element(at(sorted_), at(wanted), items_.end(), is_likelier);
  std::sort(at(sorted_), at(wanted), is_likelier);
  sorted_ = wanted;
}

void Candidates::keep_front(size_t count) {
  KVERN_CHECK(count > 0 && count <= sorted_);
  items_.resize(count);
  sorted_ = count;
}

void Candidates::keep_flagged(std::span<const uint8_t> flags) {
  KVERN_CHECK(flags.size() == items_.size());
  size_t kept = 0;
  size_t kept_sorted = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (flags[i] == 0) continue;
    if (i < sorted_) ++kept_sorted;
    items_[kept++] = items_[i];
  }
  items_.resize(kept);
  sorted_ = kept_sorted;
  update_max();
}

void Candidates::sort_by_token() {
  if (sorted_ > 0) std::ranges::sort(items_, {}, &Candidate::token);
  sorted_ = 0;
}

void Candidates::update_max() {
  if (items_.empty()) return;
  max_logit_ =
      sorted_ > 0 ? items_.front().logit : std::ranges::max_element(items_, {}, &Candidate::logit)->logit;
}

}  // namespace kvern::engine
