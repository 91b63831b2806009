// The sampled tokens follow the distribution that the parameters describe: chi-square tests with fixed seeds,
// so that they pass or fail for good.
#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "engine/sample/sample.h"

namespace kvern::engine {
namespace {

constexpr int kDraws = 40000;
// The value that chi-square with 7 degrees of freedom exceeds once in a thousand.
constexpr double kCritical7 = 24.32;
constexpr double kCritical3 = 16.27;

const std::vector<double> kProbabilities = {0.3, 0.2, 0.15, 0.1, 0.1, 0.08, 0.05, 0.02};

std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)) - 3);
  return logits;
}

enum class Vary : uint8_t { kPosition, kSeed };

std::vector<double> counts_of(const SamplingParams& base, Vary vary) {
  std::vector<double> counts(kProbabilities.size());
  for (uint64_t i = 0; i < kDraws; ++i) {
    auto logits = logits_of(kProbabilities);
    SamplingParams params = base;
    SampleContext context;
    if (vary == Vary::kPosition)
      context.position = i;
    else
      params.seed = i;
    counts[static_cast<size_t>(sample(logits, params, context)->token)] += 1;
  }
  return counts;
}

double chi_square(const std::vector<double>& counts, std::vector<double> weights) {
  double total = 0;
  for (const double weight : weights) total += weight;
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = kDraws * weights[i] / total;
    if (expected == 0) {
      EXPECT_EQ(counts[i], 0) << "token " << i << " must never come up";
      continue;
    }
    sum += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return sum;
}

SamplingParams plain() { return {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 1}; }

TEST(DistributionTest, TemperatureOneGivesTheModelsDistribution) {
  const auto counts = counts_of(plain(), Vary::kPosition);
  EXPECT_LT(chi_square(counts, kProbabilities), kCritical7);
  // The test can fail: a distribution that is off by a tenth in two tokens is found out.
  auto wrong = kProbabilities;
  wrong[0] *= 1.1;
  wrong[1] *= 0.9;
  EXPECT_GT(chi_square(counts, wrong), kCritical7);
}

TEST(DistributionTest, SeedsAreAsIndependentAsPositions) {
  EXPECT_LT(chi_square(counts_of(plain(), Vary::kSeed), kProbabilities), kCritical7);
}

TEST(DistributionTest, TemperatureRaisesTheProbabilitiesToAPower) {
  for (const float temperature : {0.5F, 2.0F}) {
    SamplingParams params = plain();
    params.temperature = temperature;
    std::vector<double> weights;
    for (const double p : kProbabilities) weights.push_back(std::pow(p, 1 / temperature));
    EXPECT_LT(chi_square(counts_of(params, Vary::kPosition), weights), kCritical7) << temperature;
  }
}

TEST(DistributionTest, TopKRenormalisesWhatIsLeft) {
  SamplingParams params = plain();
  params.top_k = 4;
  EXPECT_LT(chi_square(counts_of(params, Vary::kPosition), {0.3, 0.2, 0.15, 0.1, 0, 0, 0, 0}), kCritical3);
}

TEST(DistributionTest, XtcActsWithItsProbabilityIndependentlyOfTheToken) {
  SamplingParams params = plain();
  params.xtc_probability = 0.4F;
  params.xtc_threshold = 0.18F;  // tokens 0 and 1 reach it; token 0 is dropped when it acts
  auto weights = kProbabilities;
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = 0.6 * kProbabilities[i] + (i == 0 ? 0 : 0.4 * kProbabilities[i] / 0.7);
  EXPECT_LT(chi_square(counts_of(params, Vary::kPosition), weights), kCritical7);
}

TEST(DistributionTest, NeighbouringPositionsAreIndependent) {
  std::vector<double> pairs(64);
  size_t previous = 0;
  for (uint64_t i = 0; i <= kDraws; ++i) {
    auto logits = logits_of(kProbabilities);
    const auto token = static_cast<size_t>(sample(logits, plain(), {.position = i})->token);
    if (i > 0) pairs[previous * 8 + token] += 1;
    previous = token;
  }
  std::vector<double> weights(64);
  for (size_t i = 0; i < 64; ++i) weights[i] = kProbabilities[i / 8] * kProbabilities[i % 8];
  EXPECT_LT(chi_square(pairs, weights), 103.4);  // once in a thousand with 63 degrees of freedom
}

}  // namespace
}  // namespace kvern::engine
