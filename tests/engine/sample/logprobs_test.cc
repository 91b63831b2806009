#include "engine/sample/logprobs.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace kvern::engine {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(LogprobsTest, AreTheLogSoftmaxOfTheLogits) {
  const std::vector<float> logits = {std::log(0.5F) + 30, std::log(0.25F) + 30, std::log(0.25F) + 30};
  const RawLogprobs logprobs(logits, 2);
  EXPECT_NEAR(logprobs.of(logits[0]), std::log(0.5), 1e-5);
  ASSERT_EQ(logprobs.top().size(), 2U);
  EXPECT_EQ(logprobs.top()[0].token, 0);
  EXPECT_NEAR(logprobs.top()[0].logprob, std::log(0.5), 1e-5);
  EXPECT_EQ(logprobs.top()[1].token, 1);
  EXPECT_NEAR(logprobs.top()[1].logprob, std::log(0.25), 1e-5);
}

TEST(LogprobsTest, AreNeverBelowTheFloorAndNeverInfinite) {
  const std::vector<float> logits = {-std::numeric_limits<float>::max(), 0, -kInf, -20000};
  const RawLogprobs logprobs(logits, 10);
  EXPECT_EQ(logprobs.of(-kInf), kLogprobFloor);
  EXPECT_EQ(logprobs.of(-20000), kLogprobFloor);
  EXPECT_EQ(logprobs.of(-std::numeric_limits<float>::max()), kLogprobFloor);
  EXPECT_EQ(logprobs.of(0), 0);
  // A token of probability 0 is no answer to "the most likely".
  EXPECT_EQ(logprobs.top().size(), 3U);
}

TEST(LogprobsTest, HugeLogitsDoNotOverflow) {
  const std::vector<float> logits(5, std::numeric_limits<float>::max());
  EXPECT_NEAR(RawLogprobs(logits, 0).of(logits[0]), -std::log(5.0), 1e-6);
}

}  // namespace
}  // namespace kvern::engine
