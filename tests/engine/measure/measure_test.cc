#include "engine/measure/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/support/engines.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

TEST(Measure_tests, are_written_and_read_alike) {
  for (const char* text :
       {"prefill:1", "prefill:512", "decode:0", "decode:8192", "batch:1", "batch:1048576"}) {
    ASSERT_OK_AND_ASSIGN(const MeasureTest test, parse_measure_test(text));
    EXPECT_EQ(to_string(test), text);
  }
}

TEST(Measure_tests, that_mean_nothing_are_refused) {
  for (const char* text : {"", ":", "warmup:3", "Prefill:1", "prefill 5"})
    EXPECT_ERROR(parse_measure_test(text), kInvalidArgument, "prefill:TOKENS, decode:CONTEXT or batch:ROWS")
        << text;
  for (const char* text : {"prefill", "prefill:", "prefill:0", "batch:0", "decode:-1", "decode:1x",
                           "batch: 1", "prefill:1048577", "decode:99999999999999999999"})
    EXPECT_ERROR(parse_measure_test(text), kInvalidArgument, "needs a number") << text;
}

TEST(Median, is_of_the_middle) {
  EXPECT_EQ((Measurement{.seconds = {3, 1, 2}}.median_seconds()), 2);
  EXPECT_EQ((Measurement{.seconds = {4, 1, 2, 3}}.median_seconds()), 2.5);
  EXPECT_EQ((Measurement{.seconds = {0.5}, .tokens = 8}.tokens_per_second()), 16);
}

class MeasureTestOnModel : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(engine_, test::open_bundled({.chunk_tokens = 16})); }
  std::unique_ptr<Engine> engine_;
};

// Bundled model: 8 layers of hidden 256, ffn 768, 8 heads and 4 key-value heads of 32, vocabulary 4096.
constexpr double kLayerParameters = 8 * (256.0 * 256 * 2 + 128.0 * 256 * 2 + 3.0 * 256 * 768);
constexpr double kOutputParameters = 4096.0 * 256;
constexpr double kKvBytesPerToken = 8 * 2 * 4 * 32 * 2;  // f16

TEST_F(MeasureTestOnModel, a_prompt_counts_its_tokens_and_operations) {
  ASSERT_OK_AND_ASSIGN(const Measurement result,
                       measure(*engine_, {.kind = MeasureKind::kPrefill, .size = 40}, {.repetitions = 3}));
  EXPECT_THAT(result.seconds, testing::SizeIs(3));
  EXPECT_THAT(result.seconds, testing::Each(testing::Gt(0)));
  EXPECT_EQ(result.tokens, 40);
  EXPECT_EQ(result.bytes, 0);
  const double attention = 8 * 8 * (32 + 32) * 2.0 * (40 * 41 / 2);
  EXPECT_DOUBLE_EQ(result.operations, 2 * (40 * kLayerParameters + kOutputParameters) + attention);
  EXPECT_EQ(engine_->kv().live_bytes(), 0U);
}

TEST_F(MeasureTestOnModel, a_step_counts_what_it_reads) {
  ASSERT_OK_AND_ASSIGN(
      const Measurement decode,
      measure(*engine_, {.kind = MeasureKind::kDecode, .size = 100}, {.repetitions = 2, .steps = 4}));
  const double weights = (kLayerParameters + kOutputParameters) / 32 * 34;  // q8_0
  EXPECT_EQ(decode.tokens, 1);
  EXPECT_DOUBLE_EQ(decode.bytes, weights + 102 * kKvBytesPerToken);
  ASSERT_OK_AND_ASSIGN(const Measurement batch, measure(*engine_, {.kind = MeasureKind::kBatch, .size = 3},
                                                        {.repetitions = 2, .steps = 4}));
  EXPECT_EQ(batch.tokens, 3);
  EXPECT_DOUBLE_EQ(batch.bytes, weights + 3 * 34 * kKvBytesPerToken);
  EXPECT_EQ(engine_->kv().live_bytes(), 0U);
}

TEST_F(MeasureTestOnModel, a_test_beyond_the_context_is_an_error_and_leaves_nothing_behind) {
  EXPECT_ERROR(measure(*engine_, {.kind = MeasureKind::kDecode, .size = 1024}, {.repetitions = 1}),
               kInvalidArgument, "1024");
  EXPECT_ERROR(measure(*engine_, {.kind = MeasureKind::kPrefill, .size = 1025}, {.repetitions = 1}),
               kInvalidArgument, "1024");
  EXPECT_EQ(engine_->kv().live_bytes(), 0U);
}

}  // namespace
}  // namespace kvern::engine
