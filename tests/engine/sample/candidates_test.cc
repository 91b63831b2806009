#include "engine/sample/candidates.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace kvern::engine {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// Few different values, so that ties are common, and some masked tokens.
std::vector<float> any_logits() {
  const auto value =
      rc::gen::map(rc::gen::inRange(0, 12), [](int v) { return v == 0 ? -kInf : float(v - 6) / 2; });
  return *rc::gen::nonEmpty(rc::gen::container<std::vector<float>>(value));
}

std::vector<Candidate> in_order(const std::vector<float>& logits) {
  std::vector<Candidate> all;
  for (size_t i = 0; i < logits.size(); ++i)
    if (logits[i] != -kInf) all.push_back({static_cast<TokenId>(i), logits[i]});
  std::stable_sort(all.begin(), all.end(), [](auto a, auto b) { return a.logit > b.logit; });
  return all;
}

std::vector<Candidate> items(const Candidates& candidates) {
  return {candidates.items().begin(), candidates.items().end()};
}

TEST(CandidatesTest, EqualLogitsComeByRisingId) {
  const std::vector<float> logits = {1, 3, 3, 2, 3};
  EXPECT_EQ(items(Candidates::top(logits, 2)), (std::vector<Candidate>{{1, 3}, {2, 3}}));
}

TEST(CandidatesTest, MaskedTokensAreNoCandidates) {
  const std::vector<float> logits = {-kInf, 1, -kInf};
  EXPECT_EQ(items(Candidates::top(logits, 2)), (std::vector<Candidate>{{1, 1}}));
  EXPECT_EQ(items(Candidates::top(logits, 5)), (std::vector<Candidate>{{1, 1}}));
  EXPECT_EQ(items(Candidates::all(logits)), (std::vector<Candidate>{{1, 1}}));
}

RC_GTEST_PROP(CandidatesTest, TopKIsThePrefixOfTheSortedVocabulary, ()) {
  const auto logits = any_logits();
  const auto k = *rc::gen::inRange<size_t>(1, logits.size() + 3);
  auto expected = in_order(logits);
  expected.resize(std::min(k, expected.size()));
  RC_ASSERT(items(Candidates::top(logits, k)) == expected);
}

RC_GTEST_PROP(CandidatesTest, TopKOfALargeVocabularyWithManyTies, ()) {
  const auto values = *rc::gen::container<std::vector<int>>(4000, rc::gen::inRange(0, 50));
  const std::vector<float> logits(values.begin(), values.end());
  const auto k = *rc::gen::inRange<size_t>(1, 300);
  auto expected = in_order(logits);
  expected.resize(k);
  RC_ASSERT(items(Candidates::top(logits, k)) == expected);
}

RC_GTEST_PROP(CandidatesTest, AGrowingSortedFrontIsThePrefixOfTheSortedVocabulary, ()) {
  const auto values = *rc::gen::container<std::vector<int>>(1000, rc::gen::inRange(0, 50));
  const std::vector<float> logits(values.begin(), values.end());
  const auto expected = in_order(logits);
  Candidates candidates = Candidates::all(logits);
  for (const size_t count : *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(1, 1100))) {
    candidates.sort_front(count);
    RC_ASSERT(candidates.sorted() >= std::min<size_t>(count, 1000));
    for (size_t i = 0; i < candidates.sorted(); ++i) RC_ASSERT(candidates[i] == expected[i]);
  }
  candidates.sort_by_token();
  RC_ASSERT(items(candidates) == items(Candidates::all(logits)));
}

TEST(CandidatesTest, FlagsKeepTheOrderAndTheSortedFront) {
  Candidates candidates = Candidates::top(std::vector<float>{4, 3, 2, 1}, 4);
  candidates.keep_flagged(std::vector<uint8_t>{0, 1, 0, 1});
  EXPECT_EQ(items(candidates), (std::vector<Candidate>{{1, 3}, {3, 1}}));
  EXPECT_EQ(candidates.sorted(), 2U);
  EXPECT_EQ(candidates.max_logit(), 3);
  EXPECT_EQ(candidates.weight(0), 1);
}

}  // namespace
}  // namespace kvern::engine
