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
#include "base/memory_files.h"
#include "model/support/file_bytes.h"
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
                    GoldenRun{"mistral", "short"}, GoldenRun{"mistral-window", "short"},
                    GoldenRun{"qwen2-untied", "short"}, GoldenRun{"qwen2-tied", "short"},
                    GoldenRun{"qwen3", "short"}, GoldenRun{"phi3", "short"},
                    GoldenRun{"phi3-partial-rotary", "short"},
                    // Short factors, and the plain base above, are for engines whose rows end within the
                    // original context of 128.
                    GoldenRun{"phi3-longrope", "short", 128}, GoldenRun{"phi3-longrope", "long"},
                    GoldenRun{"gemma1-mqa", "short"}, GoldenRun{"gemma2-window-softcap", "short"},
                    GoldenRun{"gemma3-window", "short"}, GoldenRun{"gemma3-wide-window", "long"},
                    GoldenRun{"gemma3n-shared-kv", "short"}, GoldenRun{"mlx-llama-4bit", "short"},
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

struct Change {
  const char* name;
  const char* model;
  const char* key;
  const char* value;  ///< JSON
};

/// The control: what the fixtures are to show shows in the logits, far above the tolerance.
class Facts : public testing::TestWithParam<Change> {};

TEST_P(Facts, are_seen_in_the_logits) {
  const Change& change = GetParam();
  const auto disk = make_posix_files();
  const std::string run = std::string(change.model) == "gemma3-wide-window" ? "long" : "short";
  ASSERT_OK_AND_ASSIGN(const Golden golden, read_golden(change.model, run));
  const auto files = make_memory_files();
  ASSERT_OK_AND_ASSIGN(const std::string config,
                       read_file(*disk, fixture(change.model) + "/config.json", 1 << 20));
  ASSERT_OK_AND_ASSIGN(json::value changed, parse_json(config, "config.json"));
  changed.as_object()[change.key] = boost::json::parse(change.value);
  test::put_file(*files, "m/config.json", to_json(changed));
  ASSERT_OK_AND_ASSIGN(const std::string weights,
                       read_file(*disk, fixture(change.model) + "/model.safetensors", 1 << 24));
  test::put_file(*files, "m/model.safetensors", weights);
  ASSERT_OK_AND_ASSIGN(const auto runner, ModelRunner::open(*files, "m"));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, runner->prompt(golden.prompt, kHow));
  EXPECT_GT(largest_difference(logits, golden.logits.values) / golden.range(), 100 * kTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Changes, Facts,
    testing::Values(Change{"mistral_window_less", "mistral-window", "sliding_window", "7"},
                    Change{"mistral_window_more", "mistral-window", "sliding_window", "9"},
                    Change{"mistral_no_window", "mistral-window", "sliding_window", "null"},
                    Change{"gemma2_score_cap", "gemma2-window-softcap", "attn_logit_softcapping", "null"},
                    Change{"gemma2_logit_cap", "gemma2-window-softcap", "final_logit_softcapping", "null"},
                    Change{"gemma2_scale", "gemma2-window-softcap", "query_pre_attn_scalar", "32"},
                    Change{"gemma2_windows_elsewhere", "gemma2-window-softcap", "layer_types",
                           R"(["full_attention","sliding_attention"])"},
                    Change{"gemma3_local_rope", "gemma3-window", "rope_local_base_freq", "20000.0"},
                    Change{"gemma3_global_rope", "gemma3-window", "rope_theta", "500000.0"},
                    Change{"gemma3_pattern", "gemma3-window", "sliding_window_pattern", "3"},
                    Change{"gemma3_wide_window_less", "gemma3-wide-window", "sliding_window", "71"},
                    Change{"gemma3n_sparsity", "gemma3n-shared-kv", "activation_sparsity_pattern",
                           "[0.9,0.5,0.0,0.0,0.0,0.0]"},
                    Change{"gemma3n_active_stream", "gemma3n-shared-kv", "altup_active_idx", "1"},
                    Change{"gemma3n_scale", "gemma3n-shared-kv", "altup_correct_scale", "false"},
                    // Layer 5 then reads the keys and values of layer 1, as a global layer.
                    Change{"gemma3n_owner", "gemma3n-shared-kv", "layer_types",
                           R"(["sliding_attention","full_attention","sliding_attention","sliding_attention",
                               "full_attention","full_attention"])"}),
    [](const testing::TestParamInfo<Change>& info) { return std::string(info.param.name); });

// A fixture that is added and forgotten here must not go unseen.
TEST(Fixtures, are_all_named_by_a_test) {
  const auto files = make_posix_files();
  ASSERT_OK_AND_ASSIGN(const std::string text, read_file(*files, fixture("index.json"), 1 << 20));
  ASSERT_OK_AND_ASSIGN(const json::value index, parse_json(text, "index.json"));
  std::set<std::string> listed;
  for (const json::value& entry : index.at("cases").as_array()) listed.emplace(entry.at("name").as_string());
  std::set<std::string> tested;
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
