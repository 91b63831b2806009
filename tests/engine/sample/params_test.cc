#include "engine/sample/params.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kvern::engine {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr size_t kVocabulary = 10;

TEST(SamplingParamsTest, DefaultsAreLlamaCppsAndValid) {
  const SamplingParams params;
  EXPECT_EQ(params.temperature, 0.8F);
  EXPECT_EQ(params.top_k, 40);
  EXPECT_EQ(params.top_p, 0.95F);
  EXPECT_EQ(params.min_p, 0.05F);
  EXPECT_EQ(params.typical_p, 1.0F);
  EXPECT_EQ(params.repeat_penalty, 1.0F);
  EXPECT_EQ(params.repeat_last_n, 64);
  EXPECT_TRUE(validate(params, kVocabulary).has_value());
}

TEST(SamplingParamsTest, EdgesOfTheRangesAreValid) {
  const std::vector<std::function<void(SamplingParams&)>> changes = {
      [](auto& p) { p.temperature = 0; },
      [](auto& p) { p.temperature = 1e-8F; },
      [](auto& p) { p.temperature = 1e30F; },
      [](auto& p) { p.top_k = 0; },
      [](auto& p) { p.top_k = 1000000; },
      [](auto& p) { p.top_p = 0; },
      [](auto& p) { p.top_p = 1; },
      [](auto& p) { p.min_p = 1; },
      [](auto& p) { p.repeat_last_n = kWholeHistory; },
      [](auto& p) { p.presence_penalty = -2; },
      [](auto& p) { p.logit_bias = {{9, -kInf}, {0, 100}}; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    SamplingParams params;
    changes[i](params);
    EXPECT_TRUE(validate(params, kVocabulary).has_value()) << "change " << i;
  }
}

TEST(SamplingParamsTest, WrongValuesAreErrorsThatNameTheParameter) {
  struct Case {
    std::string where;
    std::function<void(SamplingParams&)> change;
  };
  const std::vector<Case> cases = {
      {"temperature", [](auto& p) { p.temperature = -0.1F; }},
      {"temperature", [](auto& p) { p.temperature = kNan; }},
      {"temperature", [](auto& p) { p.temperature = kInf; }},
      {"top_k", [](auto& p) { p.top_k = -1; }},
      {"top_p", [](auto& p) { p.top_p = 1.01F; }},
      {"top_p", [](auto& p) { p.top_p = -0.01F; }},
      {"min_p", [](auto& p) { p.min_p = kNan; }},
      {"typical_p", [](auto& p) { p.typical_p = 2; }},
      {"min_keep", [](auto& p) { p.min_keep = -1; }},
      {"repeat_penalty", [](auto& p) { p.repeat_penalty = 0; }},
      {"repeat_penalty", [](auto& p) { p.repeat_penalty = -1; }},
      {"repeat_last_n", [](auto& p) { p.repeat_last_n = -2; }},
      {"presence_penalty", [](auto& p) { p.presence_penalty = kInf; }},
      {"frequency_penalty", [](auto& p) { p.frequency_penalty = kNan; }},
      {"xtc_probability", [](auto& p) { p.xtc_probability = 1.5F; }},
      {"xtc_threshold", [](auto& p) { p.xtc_threshold = -1; }},
      {"logit_bias", [](auto& p) { p.logit_bias = {{10, 1}}; }},
      {"logit_bias", [](auto& p) { p.logit_bias = {{-1, 1}}; }},
      {"logit_bias", [](auto& p) { p.logit_bias = {{1, kInf}}; }},
      {"logit_bias", [](auto& p) { p.logit_bias = {{1, kNan}}; }},
  };
  for (const auto& [where, change] : cases) {
    SamplingParams params;
    change(params);
    const Status status = validate(params, kVocabulary);
    ASSERT_FALSE(status.has_value()) << where;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(status.error().where, where);
    EXPECT_FALSE(status.error().message.empty());
  }
}

TEST(SamplingParamsTest, TheMessageSaysWhatIsWantedAndWhatWasGiven) {
  SamplingParams params;
  params.temperature = -1;
  EXPECT_EQ(validate(params, kVocabulary).error().to_string(),
            "temperature: must be 0 (greedy) or a positive number, not -1");
}

}  // namespace
}  // namespace kvern::engine
