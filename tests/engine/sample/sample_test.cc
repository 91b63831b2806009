#include "engine/sample/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/sample/philox.h"

namespace kvern::engine {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Draws from the whole distribution, with nothing else on.
SamplingParams plain() { return {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0}; }

std::vector<float> logs(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

Result<SampledToken> try_sample(std::vector<float> logits, const SamplingParams& params,
                                const SampleContext& context = {}) {
  return sample(logits, params, context);
}

TokenId token_of(const std::vector<float>& logits, const SamplingParams& params,
                 const SampleContext& context = {}) {
  const auto result = try_sample(logits, params, context);
  EXPECT_TRUE(result.has_value());
  return result ? result->token : -1;
}

/// The tokens that come up at the first 500 positions.
std::set<TokenId> support(const std::vector<float>& logits, const SamplingParams& params) {
  std::set<TokenId> seen;
  for (uint64_t position = 0; position < 500; ++position)
    seen.insert(token_of(logits, params, {.position = position}));
  return seen;
}

TEST(SampleTest, TemperatureZeroTakesTheLargestLogitAndTheLowestIdOfEqualOnes) {
  EXPECT_EQ(token_of({1, 3, 2}, {.temperature = 0}), 1);
  EXPECT_EQ(token_of({1, 3, 2, 3}, {.temperature = 0}), 1);
  EXPECT_EQ(token_of({-kInf, -kInf, -2}, {.temperature = 0}), 2);
}

TEST(SampleTest, TheDrawInvertsTheCumulativeDistributionOverRisingIds) {
  const std::vector<float> logits = logs({0.1, 0.6, 0.3});
  for (uint64_t position = 0; position < 200; ++position) {
    const double draw = draw_for_position(9, position).token;
    const TokenId expected = draw < 0.1 ? 0 : draw < 0.7 ? 1 : 2;
    if (std::abs(draw - 0.1) < 1e-6 || std::abs(draw - 0.7) < 1e-6) continue;
    SamplingParams params = plain();
    params.seed = 9;
    ASSERT_EQ(token_of(logits, params, {.position = position}), expected) << position;
  }
}

TEST(SampleTest, GreedyAppliesBiasAndPenaltiesButNoFilter) {
  SamplingParams params{.temperature = 0, .typical_p = 0.1F, .xtc_probability = 1};
  const std::vector<float> logits = logs({0.5, 0.3, 0.2});
  EXPECT_EQ(token_of(logits, params), 0);
  params.logit_bias = {{2, 10}};
  EXPECT_EQ(token_of(logits, params), 2);
  params.logit_bias.clear();
  params.presence_penalty = 5;
  const std::vector<TokenId> history = {0};
  EXPECT_EQ(token_of(logits, params, {.history = history}), 1);
}

TEST(SampleTest, EachFilterIsApplied) {
  const std::vector<float> logits = logs({0.5, 0.25, 0.15, 0.1});
  using Ids = std::set<TokenId>;
  SamplingParams params = plain();
  EXPECT_EQ(support(logits, params), (Ids{0, 1, 2, 3}));
  params.top_k = 2;
  EXPECT_EQ(support(logits, params), (Ids{0, 1}));
  params = plain();
  params.top_p = 0.8F;
  EXPECT_EQ(support(logits, params), (Ids{0, 1, 2}));
  params = plain();
  params.min_p = 0.4F;
  EXPECT_EQ(support(logits, params), (Ids{0, 1}));
  params = plain();
  params.typical_p = 0.2F;  // entropy 1.21 nats; the surprise of token 1 (1.39) is nearest
  EXPECT_EQ(support(logits, params), (Ids{1}));
  params = plain();
  params.xtc_probability = 1;
  params.xtc_threshold = 0.2F;
  EXPECT_EQ(support(logits, params), (Ids{1, 2, 3}));
  params = plain();
  params.top_k = 1;
  params.min_keep = 2;
  EXPECT_EQ(support(logits, params), (Ids{0, 1}));
}

TEST(SampleTest, TopKComesBeforeTopP) {
  SamplingParams params = plain();
  params.top_k = 2;
  params.top_p = 0.5F;
  // Of the two that top_k leaves, token 0 has 0.4 / 0.7 > 0.5; of all four it would need token 1 too.
  EXPECT_EQ(support(logs({0.4, 0.3, 0.2, 0.1}), params), (std::set<TokenId>{0}));
}

TEST(SampleTest, PenaltiesComeBeforeTopK) {
  SamplingParams params = plain();
  params.top_k = 1;
  params.presence_penalty = 5;
  const std::vector<TokenId> history = {0};
  EXPECT_EQ(token_of(logs({0.6, 0.4}), params, {.history = history}), 1);
}

TEST(SampleTest, TemperatureComesAfterTheFilters) {
  SamplingParams params = plain();
  params.temperature = 100;  // would make both about equally likely, and so keep both
  params.min_p = 0.5F;
  EXPECT_EQ(support(logs({0.9, 0.1}), params), (std::set<TokenId>{0}));
}

TEST(SampleTest, FiltersThatDropNothingDoNotChangeTheToken) {
  const std::vector<float> logits = logs({0.3, 0.2, 0.25, 0.05, 0.2});
  for (uint64_t position = 0; position < 200; ++position) {
    SamplingParams with_top_k = plain();
    with_top_k.top_k = 5;
    SamplingParams with_min_keep = plain();
    with_min_keep.top_p = 0.1F;
    with_min_keep.min_keep = 5;
    const SampleContext context{.position = position};
    const TokenId token = token_of(logits, plain(), context);
    ASSERT_EQ(token_of(logits, with_top_k, context), token);
    ASSERT_EQ(token_of(logits, with_min_keep, context), token);
  }
}

TEST(SampleTest, AllEdgesOfTheParametersGiveATokenThatIsNotMasked) {
  const std::vector<std::vector<float>> rows = {
      {1, 1, 1, 1},
      {-kInf, -kInf, 0.5F, -kInf},
      {-kInf, 3, -kInf, 2},
      {3e38F, -3e38F, 0, 1},
      {std::numeric_limits<float>::max(), std::numeric_limits<float>::max(), -kInf, -1},
      {std::numeric_limits<float>::lowest(), -kInf, -kInf, std::numeric_limits<float>::lowest()},
  };
  for (const auto& row : rows)
    for (const float temperature : {0.0F, 1e-38F, 1e-8F, 1e-4F, 1.0F, 100.0F, 3e38F})
      for (const float top_p : {0.0F, 1e-9F, 1.0F})
        for (const int top_k : {0, 1, 5})
          for (const float xtc : {0.0F, 1.0F}) {
            SamplingParams params{
                .temperature = temperature, .top_k = top_k, .top_p = top_p, .xtc_probability = xtc};
            params.typical_p = top_p;
            params.top_logprobs = 5;
            ASSERT_TRUE(validate(params, row.size()).has_value());
            const auto result = try_sample(row, params);
            ASSERT_TRUE(result.has_value());
            ASSERT_GT(row[static_cast<size_t>(result->token)], -kInf);
            ASSERT_TRUE(std::isfinite(*result->logprob));
            for (const auto& entry : result->top) ASSERT_TRUE(std::isfinite(entry.logprob));
          }
}

TEST(SampleTest, ATinyTemperatureIsGreedy) {
  const std::vector<float> logits = {1, 1.001F, 0.999F, -5};
  for (uint64_t position = 0; position < 100; ++position) {
    SamplingParams params = plain();
    for (const float temperature : {1e-8F, 1e-6F}) {
      params.temperature = temperature;
      ASSERT_EQ(token_of(logits, params, {.position = position}), 1);
    }
  }
}

TEST(SampleTest, NoTokenLeftIsAnError) {
  const auto masked = try_sample({-kInf, -kInf}, plain());
  ASSERT_FALSE(masked.has_value());
  EXPECT_EQ(masked.error().code, ErrorCode::kInvalidArgument);
  SamplingParams params = plain();
  params.logit_bias = {{0, -kInf}, {1, -kInf}};
  const auto banned = try_sample({1, 2}, params);
  ASSERT_FALSE(banned.has_value());
  EXPECT_EQ(banned.error().where, "logit_bias");
  EXPECT_FALSE(try_sample({}, plain()).has_value());
}

TEST(SampleTest, NanAndInfiniteLogitsAreErrorsThatNameTheToken) {
  for (const float temperature : {0.0F, 1.0F}) {
    SamplingParams params = plain();
    params.temperature = temperature;
    const auto nan = try_sample({1, 2, kNan, 3}, params);
    ASSERT_FALSE(nan.has_value());
    EXPECT_EQ(nan.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(nan.error().message.find("NaN as the logit of token 2"), std::string::npos);
    const auto infinite = try_sample({1, kInf}, params);
    ASSERT_FALSE(infinite.has_value());
    EXPECT_NE(infinite.error().message.find("+infinity as the logit of token 1"), std::string::npos);
  }
}

TEST(SampleTest, LogprobsAreThoseOfTheModelWhateverTheParametersAre) {
  SamplingParams params = plain();
  params.temperature = 0;
  params.logit_bias = {{1, 100}};
  params.presence_penalty = 1;
  params.top_logprobs = 2;
  const std::vector<TokenId> history = {1, 0};
  const auto result = try_sample(logs({0.5, 0.125, 0.375}), params, {.history = history});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->token, 1);
  EXPECT_NEAR(*result->logprob, std::log(0.125), 1e-5);
  ASSERT_EQ(result->top.size(), 2U);
  EXPECT_EQ(result->top[0].token, 0);
  EXPECT_NEAR(result->top[0].logprob, std::log(0.5), 1e-5);
  EXPECT_EQ(result->top[1].token, 2);
  EXPECT_NEAR(result->top[1].logprob, std::log(0.375), 1e-5);
}

TEST(SampleTest, LogprobsOfZeroMeansTheChosenTokenOnlyAndNothingUnlessAsked) {
  SamplingParams params = plain();
  EXPECT_FALSE(try_sample({1, 2}, params)->logprob.has_value());
  params.top_logprobs = 0;
  EXPECT_TRUE(try_sample({1, 2}, params)->logprob.has_value());
  EXPECT_TRUE(try_sample({1, 2}, params)->top.empty());
}

// Rows of one batch: each has its own parameters, so the order in which they are sampled cannot matter.
TEST(SampleTest, RowsDoNotActOnEachOther) {
  const std::vector<float> logits = logs({0.3, 0.25, 0.2, 0.15, 0.1});
  SamplingParams rows[5] = {plain(), plain(), plain(), plain(), plain()};
  rows[0] = {.temperature = 0.8F, .seed = 42};
  rows[2].temperature = 0;
  rows[3] = {.temperature = 2, .top_k = 1};
  rows[4].min_p = 0.6F;
  std::vector<TokenId> alone;
  for (const auto& row : rows) alone.push_back(token_of(logits, row, {.position = 3}));
  std::vector<size_t> order(5);
  std::iota(order.begin(), order.end(), 0U);
  do {
    for (const size_t row : order) ASSERT_EQ(token_of(logits, rows[row], {.position = 3}), alone[row]);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(SampleTest, ChildrenOfOneSeedDifferAndAreReproducible) {
  std::vector<std::vector<TokenId>> texts;
  const std::vector<float> logits(50, 0);
  for (int run = 0; run < 2; ++run)
    for (uint32_t child = 0; child < 3; ++child) {
      SamplingParams params = plain();
      params.seed = child_seed(7, child);
      texts.emplace_back();
      for (uint64_t position = 0; position < 16; ++position)
        texts.back().push_back(token_of(logits, params, {.position = position}));
    }
  EXPECT_NE(texts[0], texts[1]);
  EXPECT_NE(texts[0], texts[2]);
  EXPECT_NE(texts[1], texts[2]);
  for (size_t child = 0; child < 3; ++child) EXPECT_EQ(texts[child], texts[child + 3]);
}

// The penalties see the sequence and nothing else: however a prompt came to be there, the result is the same.
TEST(SampleTest, PenaltiesDependOnTheHistoryAlone) {
  SamplingParams params = plain();
  params.repeat_penalty = 1.3F;
  params.temperature = 0;
  std::vector<TokenId> history(70, 2);
  history[0] = 0;
  const std::vector<float> logits = {10, 9, 1};
  EXPECT_EQ(token_of(logits, params, {.history = history, .prompt_tokens = 70}),
            0);  // token 0 left the window
  history[6] = 0;
  EXPECT_EQ(token_of(logits, params, {.history = history, .prompt_tokens = 70}), 1);
  EXPECT_EQ(token_of(logits, params, {.history = history, .prompt_tokens = 0}), 1);
}

// What a seed means is a promise across releases and machines.
TEST(SampleTest, TokensOfASeedAreFixed) {
  std::vector<float> logits;
  for (int i = 0; i < 1000; ++i) logits.push_back(static_cast<float>((i * 7919) % 1000) / 100);
  std::vector<TokenId> tokens;
  SamplingParams params;
  params.seed = 2026;
  for (uint64_t position = 0; position < 8; ++position)
    tokens.push_back(token_of(logits, params, {.position = position}));
  EXPECT_EQ(tokens, (std::vector<TokenId>{556, 346, 741, 926, 210, 136, 963, 914}));
}

RC_GTEST_PROP(SampleTest, AnyValidParametersGiveAnUnmaskedToken, ()) {
  const auto value =
      rc::gen::map(rc::gen::inRange(0, 200), [](int v) { return v == 0 ? -kInf : float(v) / 10; });
  auto logits = *rc::gen::container<std::vector<float>>(value);
  logits.push_back(1);
  const auto original = logits;
  const auto unit = [] { return static_cast<float>(*rc::gen::inRange(0, 101)) / 100.0F; };
  SamplingParams params{
      .temperature = 3 * unit(), .top_k = *rc::gen::inRange(0, 60), .top_p = unit(), .min_p = unit()};
  params.typical_p = unit();
  params.xtc_probability = unit();
  params.xtc_threshold = unit();
  params.min_keep = *rc::gen::inRange(0, 5);
  params.repeat_penalty = 0.5F + unit();
  params.frequency_penalty = 4 * unit() - 2;
  params.seed = *rc::gen::arbitrary<uint64_t>();
  const auto history = *rc::gen::container<std::vector<TokenId>>(rc::gen::inRange(0, 100));
  const SampleContext context{.history = history, .position = *rc::gen::arbitrary<uint64_t>()};
  const auto result = sample(logits, params, context);
  RC_ASSERT(result.has_value());
  RC_ASSERT(original[static_cast<size_t>(result->token)] > -kInf);
  auto again = original;
  RC_ASSERT(sample(again, params, context)->token == result->token);
}

TEST(SampleTest, AMaskHoldsForGreedyAndForDrawnTokens) {
  const text::TokenMask allowed{0b1010};
  const std::vector<float> logits = {5, 1, 4, 2, 3};
  EXPECT_EQ(token_of(logits, {.temperature = 0}, {.allowed = &allowed}), 3);
  std::set<TokenId> seen;
  for (uint64_t position = 0; position < 300; ++position)
    seen.insert(token_of(logits, plain(), {.position = position, .allowed = &allowed}));
  EXPECT_EQ(seen, (std::set<TokenId>{1, 3}));
}

TEST(SampleTest, AMaskComesBehindBiasesAndLeavesRawLogprobsAlone) {
  const text::TokenMask allowed{0b0110};
  SamplingParams params{.temperature = 0};
  params.logit_bias = {{0, 100}, {1, 10}};
  params.top_logprobs = 2;
  const std::vector<float> logits = logs({0.5, 0.125, 0.375});
  const auto masked = try_sample(logits, params, {.allowed = &allowed});
  ASSERT_TRUE(masked.has_value());
  EXPECT_EQ(masked->token, 1);
  EXPECT_NEAR(*masked->logprob, std::log(0.125), 1e-6);
  ASSERT_EQ(masked->top.size(), 2U);
  EXPECT_EQ(masked->top[0].token, 0);
}

TEST(SampleTest, AMaskThatLeavesNothingIsAnErrorOfTheRow) {
  const text::TokenMask none{0};
  const text::TokenMask second{0b10};
  const auto empty = try_sample({1, 2}, plain(), {.allowed = &none});
  ASSERT_FALSE(empty.has_value());
  EXPECT_EQ(empty.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(empty.error().where, "grammar");
  EXPECT_FALSE(try_sample({1, -kInf}, {.temperature = 0}, {.allowed = &second}).has_value());
  SamplingParams banned = plain();
  banned.logit_bias = {{1, -kInf}};
  EXPECT_FALSE(try_sample({1, 2}, banned, {.allowed = &second}).has_value());
}

}  // namespace
}  // namespace kvern::engine
