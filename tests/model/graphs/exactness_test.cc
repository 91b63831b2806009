// The bits of the logits do not depend on how the work was cut: chunks, threads, instruction set, company.
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/memory_files.h"
#include "model/support/model_runner.h"
#include "model/synth/synthetic_model.h"
#include "state/codec/registry.h"
#include "support/every_target.h"
#include "support/result_matchers.h"
#include "support/shared_data.h"

namespace kvern::model {
namespace {

using compute::CpuTarget;
using compute::DType;
using state::CodecKind;
using test::ModelRunner;
using test::RunnerCompute;
using test::RunnerRow;
using test::same_bits;

constexpr size_t kPromptTokens = 70;  // no multiple of any chunk below
constexpr size_t kWhole = kPromptTokens;

std::vector<int32_t> random_ids(std::mt19937& random, size_t count, int64_t vocabulary) {
  std::vector<int32_t> ids(count);
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % static_cast<uint64_t>(vocabulary));
  return ids;
}

/// Ways of computing a prompt: each chunk size with each target, the numbers of threads in turn.
std::vector<RunnerCompute> ways() {
  std::vector<RunnerCompute> all;
  const int threads[] = {1, 2, 3, 8};
  size_t turn = 0;
  for (const CpuTarget target : test::supported_targets()) {
    for (const size_t chunk : {size_t{1}, size_t{7}, size_t{16}, size_t{64}, kWhole})
      all.push_back({.target = target, .threads = threads[turn++ % 4], .chunk = chunk});
  }
  return all;
}

void expect_one_result(ModelRunner& runner) {
  std::mt19937 random(7);
  const std::vector<int32_t> prompt = random_ids(random, kPromptTokens, runner.config().vocab);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> reference,
                       runner.prompt(prompt, {.target = CpuTarget::kAvx2, .threads = 1, .chunk = kWhole}));
  for (const float logit : reference) ASSERT_TRUE(std::isfinite(logit));
  for (const RunnerCompute& how : ways()) {
    ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, runner.prompt(prompt, how));
    EXPECT_TRUE(same_bits(logits, reference))
        << compute::to_string(how.target) << ", " << how.threads << " threads, chunks of " << how.chunk;
  }
}

/// The row under test comes in uneven pieces among four others that are elsewhere in their texts.
void expect_company_to_be_harmless(ModelRunner& runner, unsigned seed) {
  std::mt19937 random(seed);
  const int64_t vocabulary = runner.config().vocab;
  const std::vector<int32_t> prompt = random_ids(random, kPromptTokens, vocabulary);
  const RunnerCompute how{.target = compute::best_target().value(), .threads = 2, .chunk = kWhole};
  ASSERT_OK_AND_ASSIGN(const std::vector<float> alone, runner.prompt(prompt, how));

  compute::Context context(how.target, how.threads);
  std::vector<state::RowId> rows(5);
  for (state::RowId& row : rows) row = runner.kv().add_row();
  std::vector<float> together;
  for (size_t done = 0; done < prompt.size();) {
    const size_t place = random() % rows.size();  // of the row under test in this step
    const size_t count = std::min<size_t>(1 + random() % 20, prompt.size() - done);
    std::vector<std::vector<int32_t>> texts;
    std::vector<RunnerRow> step;
    for (size_t i = 1; i < rows.size(); ++i) texts.push_back(random_ids(random, random() % 12, vocabulary));
    for (size_t i = 1; i < rows.size(); ++i) step.push_back({.row = rows[i], .tokens = texts[i - 1]});
    step.insert(step.begin() + static_cast<ptrdiff_t>(place),
                {.row = rows[0], .tokens = std::span(prompt).subspan(done, count)});
    ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, runner.step(context, step));
    size_t before = 0;
    for (size_t i = 0; i < place; ++i) before += step[i].tokens.size();
    const auto from = logits.begin() + static_cast<ptrdiff_t>(before) * vocabulary;
    together.insert(together.end(), from, from + static_cast<ptrdiff_t>(count) * vocabulary);
    done += count;
  }
  for (const state::RowId row : rows) ASSERT_OK(runner.kv().remove_row(row));
  EXPECT_TRUE(same_bits(together, alone)) << "seed " << seed;
}

void expect_exact(Files& files, const std::string& path, CodecKind codec) {
  ASSERT_OK_AND_ASSIGN(const auto runner, ModelRunner::open(files, path, {.codec = codec}));
  expect_one_result(*runner);
  for (unsigned seed = 1; seed <= 3; ++seed) expect_company_to_be_harmless(*runner, seed);
  EXPECT_EQ(runner->kv().live_bytes(), 0U);
}

class Bundled : public testing::TestWithParam<std::tuple<const char*, CodecKind>> {};

TEST_P(Bundled, logits_have_the_same_bits_however_the_work_is_cut) {
  const auto [path, codec] = GetParam();
  const auto files = make_posix_files();
  expect_exact(*files, test::source_file(path), codec);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Bundled,
    testing::Combine(testing::Values("models/kvern-tiny-8m-q8_0.gguf", "models/kvern-tiny-8m-hf"),
                     testing::Values(CodecKind::kF32, CodecKind::kF16, CodecKind::kBF16)));

struct Synthetic {
  const char* preset;
  DType type;
};

class SyntheticModels : public testing::TestWithParam<Synthetic> {};

TEST_P(SyntheticModels, logits_have_the_same_bits_however_the_work_is_cut) {
  const auto files = make_memory_files();
  const SynthOptions options{.preset = GetParam().preset, .type = GetParam().type, .path = "/model.gguf"};
  ASSERT_OK(write_synthetic_model(*files, options));
  expect_exact(*files, options.path, CodecKind::kF16);
}

// Each weight format, and each family once.
INSTANTIATE_TEST_SUITE_P(
    Formats, SyntheticModels,
    testing::Values(Synthetic{"tiny-llama", DType::kF32}, Synthetic{"tiny-llama", DType::kF16},
                    Synthetic{"tiny-llama", DType::kBF16}, Synthetic{"tiny-llama", DType::kQ8_0},
                    Synthetic{"tiny-llama3", DType::kQ4_0}, Synthetic{"tiny-qwen2", DType::kQ4_1},
                    Synthetic{"tiny-qwen3", DType::kQ5_0}, Synthetic{"tiny-phi3", DType::kQ5_1},
                    Synthetic{"tiny-gemma", DType::kQ4_K}, Synthetic{"tiny-llama", DType::kQ5_K},
                    Synthetic{"tiny-llama", DType::kQ6_K}, Synthetic{"tiny-mistral", DType::kQ8_0},
                    Synthetic{"tiny-gemma2", DType::kQ8_0}, Synthetic{"tiny-gemma3", DType::kF16}),
    [](const testing::TestParamInfo<Synthetic>& info) {
      std::string name =
          std::string(info.param.preset) + "_" + std::string(compute::traits(info.param.type).name);
      std::ranges::replace(name, '-', '_');
      return name;
    });

// Rows leave the windows of these several times, in chunks that begin anywhere; one of them shares keys and
// values between layers.
class Windowed : public testing::TestWithParam<const char*> {};

TEST_P(Windowed, logits_have_the_same_bits_however_the_work_is_cut) {
  const auto files = make_posix_files();
  expect_exact(*files, test::test_data(std::string("transformers/") + GetParam()), CodecKind::kF16);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Windowed,
                         testing::Values("mistral-window", "gemma2-window-softcap", "gemma3-window",
                                         "gemma3n-shared-kv"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

/// The controls share a model that the comparisons above found exact.
class Controls : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(write_synthetic_model(*files_, {.preset = "tiny-llama", .type = DType::kQ8_0, .path = "/a"}));
    ASSERT_OK(write_synthetic_model(*files_,
                                    {.preset = "tiny-llama", .type = DType::kQ8_0, .seed = 2, .path = "/b"}));
    ASSERT_OK_AND_ASSIGN(runner_, ModelRunner::open(*files_, "/a"));
    std::mt19937 random(7);
    prompt_ = random_ids(random, kPromptTokens, runner_->config().vocab);
    ASSERT_OK_AND_ASSIGN(reference_, runner_->prompt(prompt_, how_));
  }

  const std::unique_ptr<Files> files_ = make_memory_files();
  const RunnerCompute how_{.target = CpuTarget::kAvx2, .threads = 1, .chunk = kWhole};
  std::unique_ptr<ModelRunner> runner_;
  std::vector<int32_t> prompt_;
  std::vector<float> reference_;
};

TEST_F(Controls, other_weights_are_seen) {
  ASSERT_OK_AND_ASSIGN(const auto other, ModelRunner::open(*files_, "/b"));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, other->prompt(prompt_, how_));
  EXPECT_FALSE(same_bits(logits, reference_));
}

TEST_F(Controls, another_first_token_is_seen_in_the_last_logits) {
  std::vector<int32_t> changed = prompt_;
  changed[0] = (changed[0] + 1) % static_cast<int32_t>(runner_->config().vocab);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, runner_->prompt(changed, how_));
  const auto vocabulary = static_cast<size_t>(runner_->config().vocab);
  EXPECT_FALSE(same_bits(std::span(logits).last(vocabulary), std::span(reference_).last(vocabulary)));
}

TEST_F(Controls, a_token_lost_at_the_border_of_a_chunk_is_seen) {
  compute::Context context(how_.target, how_.threads);
  const state::RowId row = runner_->kv().add_row();
  const RunnerRow first{.row = row, .tokens = std::span(prompt_).first(32)};
  ASSERT_OK(runner_->step(context, {&first, 1}));
  ASSERT_OK(runner_->kv().truncate(row, 31));
  const RunnerRow second{.row = row, .tokens = std::span(prompt_).subspan(32)};
  ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, runner_->step(context, {&second, 1}));
  EXPECT_FALSE(same_bits(logits, std::span(reference_).last(logits.size())));
}

TEST_F(Controls, a_kv_type_that_rounds_more_is_seen) {
  ASSERT_OK_AND_ASSIGN(const auto rounded, ModelRunner::open(*files_, "/a", {.codec = CodecKind::kBF16}));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, rounded->prompt(prompt_, how_));
  EXPECT_FALSE(same_bits(logits, reference_));
}

TEST_F(Controls, the_change_of_one_bit_is_seen) {
  std::vector<float> changed = reference_;
  changed[changed.size() / 2] = std::nextafter(changed[changed.size() / 2], 1e9F);
  EXPECT_FALSE(same_bits(changed, reference_));
}

}  // namespace
}  // namespace kvern::model
