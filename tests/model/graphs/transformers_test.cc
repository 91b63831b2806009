// Every family and rope scaling against Hugging Face transformers: tests/data/transformers/PROVENANCE.md says
// how the goldens were made.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "model/support/model_runner.h"
#include "support/npy.h"
#include "support/result_matchers.h"
#include "support/shared_data.h"

namespace kvern::model {
namespace {

using test::largest_difference;
using test::ModelRunner;
using test::NpyArray;
using test::RunnerCompute;

/// Largest difference of a logit, as a part of the golden's range. Measured: at most 1e-6.
constexpr double kTolerance = 1e-5;

const RunnerCompute kHow{.target = compute::best_target().value(), .threads = 2, .chunk = 17};

std::string fixture(const std::string& name) { return test::test_data("transformers/" + name); }

struct Golden {
  std::vector<int32_t> prompt;
  NpyArray<float> logits;
  std::vector<int32_t> greedy;

  double range() const {
    const auto [least, most] = std::ranges::minmax(logits.values);
    return double{most} - double{least};
  }
};

Result<Golden> read_golden(const std::string& name, const std::string& run) {
  const std::string prefix = fixture(name) + "/golden/" + run;
  KVERN_TRY(NpyArray<int32_t> prompt, test::read_npy<int32_t>(prefix + "_prompt_ids.npy"));
  KVERN_TRY(NpyArray<float> logits, test::read_npy<float>(prefix + "_logits.npy"));
  KVERN_TRY(NpyArray<int32_t> greedy, test::read_npy<int32_t>(prefix + "_greedy_ids.npy"));
  return Golden{std::move(prompt.values), std::move(logits), std::move(greedy.values)};
}

struct GoldenRun {
  const char* model;
  const char* run;
  int64_t context = 0;  ///< that the engine is opened for, 0: the model's own
};

class Transformers : public testing::TestWithParam<GoldenRun> {};

TEST_P(Transformers, gives_the_same_logits_and_greedy_ids) {
  const GoldenRun& run = GetParam();
  const auto files = make_posix_files();
  ASSERT_OK_AND_ASSIGN(const Golden golden, read_golden(run.model, run.run));
  ASSERT_OK_AND_ASSIGN(const auto runner,
                       ModelRunner::open(*files, fixture(run.model), {.context_tokens = run.context}));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, runner->prompt(golden.prompt, kHow));
  const double difference = largest_difference(logits, golden.logits.values) / golden.range();
  RecordProperty("difference", std::to_string(difference));
  EXPECT_LE(difference, kTolerance);
  ASSERT_EQ(golden.greedy.size(), 64U);
  ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> greedy, runner->greedy(golden.prompt, 64, kHow));
  EXPECT_EQ(greedy, golden.greedy);
}

INSTANTIATE_TEST_SUITE_P(
    Runs, Transformers,
    testing::Values(GoldenRun{"llama2-mha", "short"}, GoldenRun{"llama3-gqa-tied", "short"},
                    GoldenRun{"llama3-gqa-tied", "long"}, GoldenRun{"llama-rope-linear", "long"},
                    GoldenRun{"llama-rope-dynamic", "short", 128}, GoldenRun{"llama-rope-yarn", "short"},
                    GoldenRun{"llama-rope-yarn", "long"}, GoldenRun{"llama-bias-head-dim", "short"},
                    GoldenRun{"mistral", "short"}, GoldenRun{"qwen2-untied", "short"},
                    GoldenRun{"qwen2-tied", "short"}, GoldenRun{"qwen3", "short"}, GoldenRun{"phi3", "short"},
                    GoldenRun{"phi3-partial-rotary", "short"},
                    // Short factors, and the plain base above, are for engines whose rows end within the
                    // original context of 128.
                    GoldenRun{"phi3-longrope", "short", 128}, GoldenRun{"phi3-longrope", "long"},
                    GoldenRun{"gemma1-mqa", "short"}, GoldenRun{"mlx-llama-4bit", "short"},
                    GoldenRun{"mlx-qwen3-8bit", "short"}),
    [](const testing::TestParamInfo<GoldenRun>& info) {
      std::string name = std::string(info.param.model) + "_" + info.param.run;
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST(Dynamic_ntk, takes_its_base_from_the_context_that_the_engine_is_opened_for) {
  const std::string name = "llama-rope-dynamic";
  const auto files = make_posix_files();
  ASSERT_OK_AND_ASSIGN(const Golden golden, read_golden(name, "long"));
  const auto length = static_cast<int64_t>(golden.prompt.size());
  ASSERT_OK_AND_ASSIGN(const auto runner,
                       ModelRunner::open(*files, fixture(name), {.context_tokens = length}));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, runner->prompt(golden.prompt, kHow));
  EXPECT_LE(largest_difference(logits, golden.logits.values) / golden.range(), kTolerance);

  // transformers chose each token with the base of the length so far: here an engine for each length.
  std::vector<int32_t> ids = golden.prompt;
  for (const int32_t expected : golden.greedy) {
    ASSERT_OK_AND_ASSIGN(
        const auto longer,
        ModelRunner::open(*files, fixture(name), {.context_tokens = static_cast<int64_t>(ids.size())}));
    ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> next, longer->greedy(ids, 1, kHow));
    ASSERT_EQ(next[0], expected) << "at position " << ids.size();
    ids.push_back(next[0]);
  }
}

TEST(Longrope, factors_of_the_other_side_give_other_logits) {
  const auto files = make_posix_files();
  ASSERT_OK_AND_ASSIGN(const Golden golden, read_golden("phi3-longrope", "short"));
  ASSERT_OK_AND_ASSIGN(const auto runner,
                       ModelRunner::open(*files, fixture("phi3-longrope"), {.context_tokens = 129}));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, runner->prompt(golden.prompt, kHow));
  EXPECT_GT(largest_difference(logits, golden.logits.values) / golden.range(), 100 * kTolerance);
}

// Until windows are kept by the state, such a model is exact up to its window; the engine refuses more.
TEST(Sliding_window, is_exact_within_the_window_and_its_length_is_known) {
  const auto files = make_posix_files();
  ASSERT_OK_AND_ASSIGN(const Golden golden, read_golden("mistral-window", "short"));
  ASSERT_OK_AND_ASSIGN(const auto runner, ModelRunner::open(*files, fixture("mistral-window")));
  const int64_t window = exact_context_without_window(runner->config());
  ASSERT_EQ(window, 8);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, runner->prompt(golden.prompt, kHow));
  const auto inside = static_cast<size_t>(window * runner->config().vocab);
  const auto next = static_cast<size_t>(runner->config().vocab);
  const std::span<const float> ours(logits), theirs(golden.logits.values);
  EXPECT_LE(largest_difference(ours.first(inside), theirs.first(inside)) / golden.range(), kTolerance);
  // The control: one position further the window drops a token that full attention sees.
  EXPECT_GT(largest_difference(ours.subspan(inside, next), theirs.subspan(inside, next)) / golden.range(),
            100 * kTolerance);
}

TEST(Families, that_no_graph_computes_are_refused_by_name) {
  const auto files = make_posix_files();
  EXPECT_ERROR(Model::open(*files, fixture("gemma2-window-softcap")), kUnsupported, "gemma2");
  EXPECT_ERROR(Model::open(*files, fixture("gemma3-window")), kUnsupported, "gemma3");
}

// A fixture that is added and forgotten here must not go unseen.
TEST(Fixtures, are_all_named_by_a_test) {
  const auto files = make_posix_files();
  ASSERT_OK_AND_ASSIGN(const std::string text, read_file(*files, fixture("index.json"), 1 << 20));
  ASSERT_OK_AND_ASSIGN(const json::value index, parse_json(text, "index.json"));
  std::set<std::string> listed;
  for (const json::value& entry : index.at("cases").as_array()) listed.emplace(entry.at("name").as_string());
  std::set<std::string> tested = {"mistral-window", "gemma2-window-softcap", "gemma3-window"};
  const auto* suite = testing::UnitTest::GetInstance();
  for (int i = 0; i < suite->total_test_suite_count(); ++i) {
    const testing::TestSuite* tests = suite->GetTestSuite(i);
    for (int j = 0; j < tests->total_test_count(); ++j) {
      const std::string name = tests->GetTestInfo(j)->name();
      for (const std::string& fixture_name : listed) {
        std::string spelled = fixture_name;
        std::ranges::replace(spelled, '-', '_');
        if (name.ends_with("/" + spelled + "_short") || name.ends_with("/" + spelled + "_long"))
          tested.insert(fixture_name);
      }
    }
  }
  EXPECT_EQ(tested, listed);
}

}  // namespace
}  // namespace kvern::model
