// The bundled model against transformers: tests/data/kvern-tiny/PROVENANCE.md.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "model/support/model_runner.h"
#include "support/npy.h"
#include "support/result_matchers.h"
#include "support/shared_data.h"

namespace kvern::model {
namespace {

using test::ModelRunner;
using test::RunnerCompute;

const RunnerCompute kHow{.target = compute::best_target().value(), .threads = 2, .chunk = 64};

std::string golden(const std::string& name) { return test::test_data("kvern-tiny/" + name); }

class Kvern_tiny : public testing::TestWithParam<const char*> {};

TEST_P(Kvern_tiny, gives_the_logits_and_greedy_ids_of_transformers) {
  const std::string prompt_name = GetParam();
  const auto files = make_posix_files();
  ASSERT_OK_AND_ASSIGN(const auto prompt, test::read_npy<int32_t>(golden(prompt_name + "_prompt_ids.npy")));
  ASSERT_OK_AND_ASSIGN(const auto greedy, test::read_npy<int32_t>(golden(prompt_name + "_greedy_ids.npy")));
  ASSERT_OK_AND_ASSIGN(const auto last, test::read_npy<float>(golden(prompt_name + "_last_logits.npy")));
  ASSERT_EQ(greedy.values.size(), 64U);
  ASSERT_EQ(last.shape, (std::vector<size_t>{8, 4096}));
  ASSERT_OK_AND_ASSIGN(const auto runner,
                       ModelRunner::open(*files, test::source_file("models/kvern-tiny-8m-hf")));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, runner->prompt(prompt.values, kHow));
  ASSERT_GE(logits.size(), last.values.size());
  const double difference = test::largest_difference(std::span(logits).last(last.values.size()), last.values);
  RecordProperty("difference", std::to_string(difference));
  EXPECT_LE(difference, 1e-3);
  ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> ids, runner->greedy(prompt.values, 64, kHow));
  EXPECT_EQ(ids, greedy.values);
}

INSTANTIATE_TEST_SUITE_P(Prompts, Kvern_tiny, testing::Values("p0", "p1", "p2", "p3"),
                         [](const auto& info) { return std::string(info.param); });

// PROVENANCE.md: quantization moves logits by up to 0.45, and by something: else the f16 weights were read.
TEST(Kvern_tiny_q8_0, stays_near_the_logits_of_the_f16_weights) {
  const auto files = make_posix_files();
  ASSERT_OK_AND_ASSIGN(const auto prompt, test::read_npy<int32_t>(golden("p1_prompt_ids.npy")));
  ASSERT_OK_AND_ASSIGN(const auto last, test::read_npy<float>(golden("p1_last_logits.npy")));
  ASSERT_OK_AND_ASSIGN(const auto runner,
                       ModelRunner::open(*files, test::source_file("models/kvern-tiny-8m-q8_0.gguf")));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, runner->prompt(prompt.values, kHow));
  ASSERT_GE(logits.size(), last.values.size());
  const double difference = test::largest_difference(std::span(logits).last(last.values.size()), last.values);
  EXPECT_LE(difference, 0.5);
  EXPECT_GE(difference, 0.001);
}

}  // namespace
}  // namespace kvern::model
