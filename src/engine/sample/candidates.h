// The tokens that may still be sampled.
//
// Candidates are ordered by falling logit, equal logits by rising id: a total order, so that the result never
// depends on how a sort or a selection was done. Sorting a whole vocabulary is avoided: only as long a front
// is brought in order as a filter looks at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/sample/params.h"

namespace kvern::engine {

struct Candidate {
  TokenId token = 0;
  float logit = 0;
  bool operator==(const Candidate&) const = default;
};

/// True if `a` comes before `b`.
inline bool is_likelier(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

/// One thread. Invariants: the first `sorted()` candidates are in order and none behind comes before them.
/// Between filters the candidates are either all in order or by rising id, so that sums over them are
/// reproducible.
class Candidates {
 public:
  /// All tokens whose logit ([vocabulary], no NaN, no +infinity) is above -infinity.
  static Candidates all(std::span<const float> logits);
  /// The first k of those in order, k at least 1.
  static Candidates top(std::span<const float> logits, size_t k);

  size_t size() const { return items_.size(); }
  size_t sorted() const { return sorted_; }
  const Candidate& operator[](size_t index) const { return items_[index]; }
  std::span<const Candidate> items() const { return items_; }

  /// The largest logit; there must be a candidate.
  float max_logit() const { return max_logit_; }
  /// Sum of exp(logit - max_logit()) over all candidates, in their present order.
  double total_weight() const;
  /// exp(logit - max_logit()) of one candidate.
  double weight(size_t index) const;

  /// Brings at least the first `count` (or all) in order; the work is amortised over growing counts.
  void sort_front(size_t count);
  /// Keeps the first `count`, which must be in order.
  void keep_front(size_t count);
  /// Keeps the candidates whose flag (one for each, in their present order) is not 0; the order stays.
  void keep_flagged(std::span<const uint8_t> flags);
  /// Puts all in the order of rising ids.
  void sort_by_token();

 private:
  void update_max();

  std::vector<Candidate> items_;
  size_t sorted_ = 0;
  float max_logit_ = 0;
};

}  // namespace kvern::engine
