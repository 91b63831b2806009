#include "engine/sample/adjust.h"

#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvern::engine {
namespace {

using testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();

std::vector<float> adjusted(std::vector<float> logits, const SamplingParams& params,
                            const SampleContext& context = {}) {
  adjust_logits(logits, params, context);
  return logits;
}

TEST(AdjustTest, BiasIsAddedAndMinusInfinityBans) {
  SamplingParams params;
  params.logit_bias = {{1, 2.5F}, {3, -kInf}, {1, -1.0F}};
  EXPECT_THAT(adjusted({1, 2, 3, 4}, params), ElementsAre(1, 3.5F, 3, -kInf));
}

TEST(AdjustTest, RepeatPenaltyDividesPositiveAndMultipliesNegativeLogitsOnce) {
  SamplingParams params;
  params.repeat_penalty = 2;
  const std::vector<TokenId> history = {0, 1, 1, 1, 2};
  EXPECT_THAT(adjusted({3, -3, 0, 5}, params, {.history = history}), ElementsAre(1.5F, -6, 0, 5));
}

TEST(AdjustTest, FrequencyCountsAndPresenceDoesNot) {
  SamplingParams params;
  params.frequency_penalty = 0.5F;
  params.presence_penalty = 0.25F;
  const std::vector<TokenId> history = {1, 0, 1, 1};
  EXPECT_THAT(adjusted({1, 1, 1}, params, {.history = history}), ElementsAre(0.25F, -0.75F, 1));
}

TEST(AdjustTest, RepeatPenaltyComesBeforeTheAdditiveOnes) {
  SamplingParams params;
  params.repeat_penalty = 2;
  params.presence_penalty = 3;
  const std::vector<TokenId> history = {0};
  EXPECT_THAT(adjusted({4}, params, {.history = history}), ElementsAre(-1));
}

TEST(AdjustTest, BiasComesBeforeThePenalties) {
  SamplingParams params;
  params.logit_bias = {{0, 6}};
  params.repeat_penalty = 2;
  const std::vector<TokenId> history = {0};
  EXPECT_THAT(adjusted({-2}, params, {.history = history}), ElementsAre(2));
}

TEST(AdjustTest, OnlyTheNewestTokensOfTheWindowCount) {
  SamplingParams params;
  params.presence_penalty = 1;
  params.repeat_last_n = 2;
  const std::vector<TokenId> history = {0, 1, 2, 2};
  EXPECT_THAT(adjusted({5, 5, 5}, params, {.history = history}), ElementsAre(5, 5, 4));
  params.repeat_last_n = 3;
  EXPECT_THAT(adjusted({5, 5, 5}, params, {.history = history}), ElementsAre(5, 4, 4));
  params.repeat_last_n = 0;
  EXPECT_THAT(adjusted({5, 5, 5}, params, {.history = history}), ElementsAre(5, 5, 5));
  params.repeat_last_n = kWholeHistory;
  EXPECT_THAT(adjusted({5, 5, 5}, params, {.history = history}), ElementsAre(4, 4, 4));
}

TEST(AdjustTest, TheDefaultWindowIsSixtyFour) {
  SamplingParams params;
  params.presence_penalty = 1;
  std::vector<TokenId> history(65, 1);
  history[0] = 0;
  EXPECT_THAT(adjusted({5, 5}, params, {.history = history}), ElementsAre(5, 4));
  history[1] = 0;
  EXPECT_THAT(adjusted({5, 5}, params, {.history = history}), ElementsAre(4, 4));
}

TEST(AdjustTest, PromptTokensCountUnlessTheScopeIsGenerated) {
  SamplingParams params;
  params.presence_penalty = 1;
  params.repeat_penalty = 2;
  const SampleContext context{.history = {}, .prompt_tokens = 1};
  const std::vector<TokenId> history = {0, 1};
  SampleContext with_history = context;
  with_history.history = history;
  EXPECT_THAT(adjusted({4, 4}, params, with_history), ElementsAre(1, 1));
  params.additive_scope = PenaltyScope::kGenerated;
  EXPECT_THAT(adjusted({4, 4}, params, with_history), ElementsAre(2, 1));
}

TEST(AdjustTest, BannedTokensStayBannedAndNothingOverflows) {
  SamplingParams params;
  params.logit_bias = {{1, kMax}, {2, -kMax}};
  params.repeat_penalty = 1e-30F;
  params.frequency_penalty = -kMax;
  const std::vector<TokenId> history = {0, 1, 2, 3, 3};
  EXPECT_THAT(adjusted({-kInf, kMax, -kMax, 1}, params, {.history = history}),
              ElementsAre(-kInf, kMax, kMax, kMax));
}

TEST(AdjustTest, TokensOutsideOfTheVocabularyAreIgnored) {
  SamplingParams params;
  params.presence_penalty = 1;
  const std::vector<TokenId> history = {-1, 7, 0};
  EXPECT_THAT(adjusted({5, 5}, params, {.history = history}), ElementsAre(4, 5));
}

TEST(AdjustTest, ReportsTheFirstValueOfEachChangedLogit) {
  SamplingParams params;
  params.logit_bias = {{2, 1}, {0, 1}, {2, 1}};
  params.presence_penalty = 1;
  const std::vector<TokenId> history = {2, 1};
  std::vector<float> logits = {10, 11, 12, 13};
  const auto originals = adjust_logits(logits, params, {.history = history});
  ASSERT_EQ(originals.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(originals[i].token, static_cast<TokenId>(i));
    EXPECT_EQ(originals[i].logit, 10 + static_cast<float>(i));
  }
}

TEST(AdjustTest, OnlyTheTokensOfAMaskAreKept) {
  std::vector<float> logits(200, 1.5F);
  text::TokenMask allowed{uint64_t{1} << 3 | uint64_t{1} << 63, 0, ~uint64_t{0}};  // none for 192 to 199
  keep_allowed(logits, allowed);
  for (size_t id = 0; id < logits.size(); ++id) {
    const bool kept = id == 3 || id == 63 || (id >= 128 && id < 192);
    EXPECT_EQ(logits[id], kept ? 1.5F : -kInf) << id;
    EXPECT_EQ(text::allows(allowed, static_cast<TokenId>(id)), kept) << id;
  }
  EXPECT_FALSE(text::allows(allowed, -1));
}

}  // namespace
}  // namespace kvern::engine
