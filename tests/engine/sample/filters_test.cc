// Hand-computed cases. Logits are logarithms of the probabilities in the comments.
#include "engine/sample/filters.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace kvern::engine {
namespace {

using testing::ElementsAre;

std::vector<float> logs(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

/// 1/2, 1/4, 1/8, 1/8, not in order: tokens 2, 0, 1, 3.
Candidates halves() { return Candidates::all(logs({0.25, 0.125, 0.5, 0.125})); }

std::vector<TokenId> tokens(Candidates candidates) {
  candidates.sort_by_token();
  std::vector<TokenId> ids;
  for (const Candidate& candidate : candidates.items()) ids.push_back(candidate.token);
  return ids;
}

std::vector<TokenId> top_p(double p, size_t min_keep = 0) {
  Candidates candidates = halves();
  keep_top_p(candidates, {.p = p, .min_keep = min_keep});
  return tokens(candidates);
}

TEST(TopPTest, KeepsTheShortestListThatReachesP) {
  EXPECT_THAT(top_p(0.49), ElementsAre(2));
  EXPECT_THAT(top_p(0.51), ElementsAre(0, 2));
  EXPECT_THAT(top_p(0.74), ElementsAre(0, 2));
  EXPECT_THAT(top_p(0.76), ElementsAre(0, 1, 2));  // of two equal ones the lower id
  EXPECT_THAT(top_p(0.88), ElementsAre(0, 1, 2, 3));
}

TEST(TopPTest, EdgesKeepOneOrAll) {
  EXPECT_THAT(top_p(0), ElementsAre(2));
  EXPECT_THAT(top_p(1e-9), ElementsAre(2));
  EXPECT_THAT(top_p(1), ElementsAre(0, 1, 2, 3));
}

TEST(TopPTest, KeepsAtLeastMinKeep) {
  EXPECT_THAT(top_p(0.1, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(top_p(0.1, 9), ElementsAre(0, 1, 2, 3));
}

std::vector<TokenId> min_p(double p, size_t min_keep = 0) {
  Candidates candidates = halves();
  keep_min_p(candidates, {.p = p, .min_keep = min_keep});
  return tokens(candidates);
}

TEST(MinPTest, KeepsTokensAtLeastPTimesAsLikelyAsTheBest) {
  EXPECT_THAT(min_p(0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(min_p(0.24), ElementsAre(0, 1, 2, 3));  // 0.24 * 1/2 < 1/8
  EXPECT_THAT(min_p(0.26), ElementsAre(0, 2));
  EXPECT_THAT(min_p(0.49), ElementsAre(0, 2));
  EXPECT_THAT(min_p(0.51), ElementsAre(2));
  EXPECT_THAT(min_p(1), ElementsAre(2));
}

TEST(MinPTest, KeepsAtLeastMinKeep) {
  EXPECT_THAT(min_p(1, 2), ElementsAre(0, 2));
  EXPECT_THAT(min_p(1, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(min_p(1, 9), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(min_p(0.26, 2), ElementsAre(0, 2));
}

std::vector<TokenId> typical(double p, size_t min_keep = 0) {
  Candidates candidates = halves();
  keep_typical(candidates, {.p = p, .min_keep = min_keep});
  return tokens(candidates);
}

// Surprise in bits: 1, 2, 3, 3; entropy 1.75; distances 0.75, 0.25, 1.25, 1.25. So the order is 1/4 (token
// 0), 1/2 (token 2), 1/8 (tokens 1, 3): the most likely token is not the first.
TEST(TypicalTest, KeepsTokensWhoseSurpriseIsNearestToTheEntropy) {
  EXPECT_THAT(typical(0), ElementsAre(0));
  EXPECT_THAT(typical(0.24), ElementsAre(0));
  EXPECT_THAT(typical(0.26), ElementsAre(0, 2));
  EXPECT_THAT(typical(0.74), ElementsAre(0, 2));
  EXPECT_THAT(typical(0.76), ElementsAre(0, 1, 2));
  EXPECT_THAT(typical(0.88), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(typical(1), ElementsAre(0, 1, 2, 3));
}

TEST(TypicalTest, KeepsAtLeastMinKeep) { EXPECT_THAT(typical(0.1, 3), ElementsAre(0, 1, 2)); }

std::vector<TokenId> xtc(const XtcOptions& options) {
  Candidates candidates = halves();
  exclude_top_choices(candidates, options);
  return tokens(candidates);
}

TEST(XtcTest, DropsAllButTheLeastLikelyOfTheTopChoices) {
  EXPECT_THAT(xtc({.probability = 1, .threshold = 0.2}), ElementsAre(0, 1, 3));
  // All four reach 0.12; the least likely of them is token 3, which comes behind its equal, token 1.
  EXPECT_THAT(xtc({.probability = 1, .threshold = 0.12}), ElementsAre(3));
}

TEST(XtcTest, DoesNothingWithFewerThanTwoTopChoices) {
  EXPECT_THAT(xtc({.probability = 1, .threshold = 0.3}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(xtc({.probability = 1, .threshold = 0.51}), ElementsAre(0, 1, 2, 3));
}

TEST(XtcTest, ActsOnlyIfTheDrawIsBelowItsProbability) {
  EXPECT_THAT(xtc({.probability = 0.5, .threshold = 0.2, .draw = 0.49}), ElementsAre(0, 1, 3));
  EXPECT_THAT(xtc({.probability = 0.5, .threshold = 0.2, .draw = 0.5}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(xtc({.probability = 0, .threshold = 0.2, .draw = 0}), ElementsAre(0, 1, 2, 3));
}

TEST(XtcTest, DoesNothingIfTooFewWouldBeLeft) {
  EXPECT_THAT(xtc({.probability = 1, .threshold = 0.2, .min_keep = 3}), ElementsAre(0, 1, 3));
  EXPECT_THAT(xtc({.probability = 1, .threshold = 0.2, .min_keep = 4}), ElementsAre(0, 1, 2, 3));
}

// A slow and obvious form of top_p over a sorted list, and the same result whether the filter met the
// candidates sorted or by id.
RC_GTEST_PROP(FiltersTest, TopPEqualsAFullSort, ()) {
  const auto values = *rc::gen::container<std::vector<int>>(700, rc::gen::inRange(0, 400));
  std::vector<float> logits;
  for (const int value : values) logits.push_back(static_cast<float>(value) / 50);
  const double p = *rc::gen::inRange(0, 1000) / 1000.0;
  Candidates sorted = Candidates::top(logits, logits.size());
  double sum = 0;
  size_t count = 0;
  while (count < sorted.size() && (count == 0 || sum < p * sorted.total_weight()))
    sum += sorted.weight(count++);
  Candidates by_id = Candidates::all(logits);
  keep_top_p(by_id, {.p = p});
  // The totals are added in different orders, so a border case may differ by one token.
  RC_ASSERT(by_id.size() + 1 >= count && by_id.size() <= count + 1);
  for (size_t i = 0; i < by_id.size(); ++i) RC_ASSERT(by_id[i] == sorted[i]);
}

RC_GTEST_PROP(FiltersTest, NoFilterEverDropsAllCandidates, ()) {
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-500, 500)));
  const std::vector<float> logits(values.begin(), values.end());
  const auto unit = [] { return *rc::gen::inRange(0, 101) / 100.0; };
  Candidates candidates = Candidates::all(logits);
  keep_typical(candidates, {.p = unit()});
  keep_top_p(candidates, {.p = unit()});
  keep_min_p(candidates, {.p = unit()});
  exclude_top_choices(candidates, {.probability = 1, .threshold = unit()});
  RC_ASSERT(candidates.size() >= 1);
}

}  // namespace
}  // namespace kvern::engine
