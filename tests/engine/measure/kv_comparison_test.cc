#include "engine/measure/kv_comparison.h"

#include <gtest/gtest.h>

#include "engine/support/engines.h"
#include "support/result_matchers.h"
#include "support/shared_data.h"

namespace kvern::engine {
namespace {

Result<std::vector<KvComparison>> compare(const KvComparisonOptions& options) {
  const auto files = make_posix_files();
  const EngineOptions engine{.model_path = kvern::test::source_file("models/kvern-tiny-8m-q8_0.gguf"),
                             .threads = 2};
  return compare_kv_types(*files, engine, options, [](const std::string&) {});
}

TEST(KvComparison, GivesNoErrorForTheReferenceItselfAndMoreForFewerBits) {
  ASSERT_OK_AND_ASSIGN(const auto results,
                       compare({.types = {"f32", "q8", "q4", "q2"}, .context = 0, .text_tokens = 64}));
  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0].mean_kl, 0.0);
  EXPECT_EQ(results[0].same_top, 1.0);
  for (size_t i = 1; i < results.size(); ++i) {
    EXPECT_GT(results[i].mean_kl, results[i - 1].mean_kl);
    EXPECT_LT(results[i].bytes_per_token, results[i - 1].bytes_per_token);
    EXPECT_TRUE(results[i].step_seconds.empty());
  }
}

TEST(KvComparison, TimesEveryTypeAsOftenAsItIsAsked) {
  ASSERT_OK_AND_ASSIGN(
      const auto results,
      compare({.types = {"f16", "h4"}, .context = 100, .text_tokens = 8, .repetitions = 3, .steps = 2}));
  for (const KvComparison& result : results) {
    EXPECT_EQ(result.step_seconds.size(), 3U);
    for (const double seconds : result.step_seconds) EXPECT_GT(seconds, 0.0);
  }
}

TEST(KvComparison, ComparesAPrecisionRuleWithATypeThatNeedsNone) {
  const auto files = make_posix_files();
  EngineOptions engine{.model_path = kvern::test::source_file("models/kvern-tiny-8m-q8_0.gguf"),
                       .threads = 2};
  engine.kv.keep_last = 1000;  // longer than the text: all of it in f16
  ASSERT_OK_AND_ASSIGN(
      const auto results,
      compare_kv_types(*files, engine, {.types = {"f16", "q4"}, .context = 0, .text_tokens = 32},
                       [](const std::string&) {}));
  EXPECT_EQ(results[1].mean_kl, results[0].mean_kl);
}

TEST(KvComparison, NamesATypeThatCannotBe) {
  EXPECT_ERROR(compare({.types = {"f16", "q7"}}), kInvalidArgument, "q8");
  EXPECT_ERROR(compare({.types = {"turbo:k8v3"}}), kInvalidArgument, "heads of 32");
}

}  // namespace
}  // namespace kvern::engine
