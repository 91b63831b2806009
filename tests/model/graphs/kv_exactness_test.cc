// The bits of the logits do not depend on where keys and values lie nor on what a row went through: layouts,
// pages, chunks, rejected drafts, forks that were cut and grown again, rows that left and came back, company.
// For every type that fits the heads, on the bundled model and on models with windows.
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/memory_files.h"
#include "model/support/model_runner.h"
#include "model/synth/synthetic_model.h"
#include "support/every_target.h"
#include "support/result_matchers.h"
#include "support/shared_data.h"

namespace kvern::model {
namespace {

using test::ModelRunner;
using test::RunnerRow;
using test::same_bits;

constexpr size_t kPromptTokens = 90;

struct Case {
  std::string model;  ///< a path, or a preset of synthetic models
  std::string type;
  state::KvPrecision precision;
};

std::string name_of(const Case& c) {
  std::string name = c.model + "_" + c.type + (c.precision.mixed() ? "_mixed" : "");
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
}

class KvExactness : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    files_ = make_posix_files();
    std::string path = test::source_file(GetParam().model);
    if (!GetParam().model.contains('/')) {
      files_ = make_memory_files();
      path = "/model.gguf";
      ASSERT_OK(write_synthetic_model(
          *files_, {.preset = GetParam().model, .type = compute::DType::kQ8_0, .path = path}));
    }
    ASSERT_OK_AND_ASSIGN(options_.types, state::parse_kv_types(GetParam().type));
    options_.precision = GetParam().precision;
    ASSERT_OK_AND_ASSIGN(runner_, ModelRunner::open(*files_, path, {.kv = options_}));
    std::mt19937 random(11);
    for (size_t i = 0; i < kPromptTokens; ++i) {
      prompt_.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(runner_->config().vocab)));
    }
    ASSERT_OK_AND_ASSIGN(expected_, runner_->prompt(prompt_, {.target = compute::CpuTarget::kAvx2}));
  }

  std::span<const int32_t> tokens(size_t begin, size_t end) const {
    return std::span(prompt_).subspan(begin, end - begin);
  }
  std::span<const float> logits(size_t begin, size_t end) const {
    const auto vocabulary = static_cast<size_t>(runner_->config().vocab);
    return std::span(expected_).subspan(begin * vocabulary, (end - begin) * vocabulary);
  }
  /// Brings tokens [begin, end) of the prompt and compares their logits.
  void expect_step(state::RowId row, size_t begin, size_t end) {
    const RunnerRow work{.row = row, .tokens = tokens(begin, end)};
    ASSERT_OK_AND_ASSIGN(const std::vector<float> got, runner_->step(context_, {&work, 1}));
    EXPECT_TRUE(same_bits(got, logits(begin, end))) << "tokens " << begin << " to " << end;
  }

  /// A row is forked, the fork is cut as far as it can be and grows again, the row itself goes on.
  void fork_cut_and_grow() {
    state::KvCache& kv = runner_->kv();
    const state::RowId row = kv.add_row();
    expect_step(row, 0, 61);
    ASSERT_OK_AND_ASSIGN(const state::RowId fork, kv.fork(row));
    ASSERT_OK_AND_ASSIGN(const int64_t minimum, kv.minimum_reusable_position(fork));
    ASSERT_OK(kv.truncate(fork, minimum));
    expect_step(fork, static_cast<size_t>(minimum), kPromptTokens);
    expect_step(row, 61, kPromptTokens);
    ASSERT_OK(kv.remove_row(fork));
    ASSERT_OK(kv.remove_row(row));
  }

  /// Drafts of other tokens are rejected in part, wherever the row is.
  void reject_drafts() {
    state::KvCache& kv = runner_->kv();
    const state::RowId row = kv.add_row();
    std::mt19937 random(3);
    for (size_t done = 0; done < kPromptTokens;) {
      const size_t good = std::min<size_t>(random() % 4, kPromptTokens - done);
      std::vector<int32_t> draft(tokens(done, done + good).begin(), tokens(done, done + good).end());
      for (size_t i = 0; i < 1 + random() % 5; ++i) draft.push_back(prompt_[random() % kPromptTokens]);
      ASSERT_OK(runner_->speculate(context_, {.row = row, .tokens = draft}, static_cast<int64_t>(good)));
      done += good;
      const size_t next = std::min(done + 1 + random() % 9, kPromptTokens);
      if (next > done) expect_step(row, done, next);
      done = next;
    }
    ASSERT_OK(kv.remove_row(row));
  }

  /// The row leaves as bytes and comes back while another one is there.
  void leave_and_come_back() {
    state::KvCache& kv = runner_->kv();
    const state::RowId row = kv.add_row();
    const state::RowId other = kv.add_row();
    expect_step(other, 0, 33);
    expect_step(row, 0, 52);
    ASSERT_OK_AND_ASSIGN(const state::RowImage image, kv.evict(row));
    expect_step(other, 33, 70);
    ASSERT_OK_AND_ASSIGN(const state::RowImage read, state::row_image_from_bytes(state::to_bytes(image)));
    ASSERT_OK_AND_ASSIGN(const state::RowId back, kv.adopt(read));
    expect_step(back, 52, kPromptTokens);
    expect_step(other, 70, kPromptTokens);
    ASSERT_OK(kv.remove_row(back));
    ASSERT_OK(kv.remove_row(other));
  }

  std::unique_ptr<Files> files_;
  state::KvOptions options_;
  std::unique_ptr<ModelRunner> runner_;
  compute::Context context_{*compute::best_target(), 2};
  std::vector<int32_t> prompt_;
  std::vector<float> expected_;
};

TEST_P(KvExactness, LogitsAreTheSameWithPagesOfEverySize) {
  options_.layout = state::LayoutKind::kPaged;
  for (const int64_t page : {16, 32, 64, 128, 256}) {
    SCOPED_TRACE("page " + std::to_string(page));
    options_.page = page;
    ASSERT_OK(runner_->set_kv(options_));
    ASSERT_OK_AND_ASSIGN(const std::vector<float> got,
                         runner_->prompt(prompt_, {.target = *compute::best_target(), .chunk = 29}));
    EXPECT_TRUE(same_bits(got, expected_));
    fork_cut_and_grow();
  }
}

TEST_P(KvExactness, LogitsAreTheSameOnEveryLayoutAndAfterEveryHistory) {
  struct Place {
    state::LayoutKind layout;
    int64_t page;
  };
  for (const Place& place : {Place{state::LayoutKind::kSlab, 64},
                             {state::LayoutKind::kPaged, 16},
                             {state::LayoutKind::kPaged, 64},
                             {state::LayoutKind::kRing, 64},
                             {state::LayoutKind::kPadded, 64}}) {
    SCOPED_TRACE(std::string(state::to_string(place.layout)) + ", page " + std::to_string(place.page));
    options_.layout = place.layout;
    options_.page = place.page;
    ASSERT_OK(runner_->set_kv(options_));
    for (const size_t chunk : {size_t{1}, size_t{13}, kPromptTokens}) {
      ASSERT_OK_AND_ASSIGN(const std::vector<float> got,
                           runner_->prompt(prompt_, {.target = *compute::best_target(), .chunk = chunk}));
      EXPECT_TRUE(same_bits(got, expected_)) << "chunks of " << chunk;
    }
    fork_cut_and_grow();
    reject_drafts();
    leave_and_come_back();
    EXPECT_EQ(runner_->kv().live_bytes(), 0U);
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const std::string bundled = "models/kvern-tiny-8m-q8_0.gguf";
  for (const char* type : {"f16", "fp8", "q8", "q3", "h4", "k=h8,v=q5"}) all.push_back({bundled, type, {}});
  all.push_back({bundled, "q4", {.quant_start = 40, .keep_first = 3, .keep_last = 10}});
  for (const char* model : {"tiny-mistral", "tests/data/transformers/gemma2-window-softcap",
                            "tests/data/transformers/gemma3n-shared-kv"}) {
    for (const char* type : {"f16", "q8", "h4"}) all.push_back({model, type, {}});
    all.push_back({model, "q4", {.quant_start = 30, .keep_first = 2, .keep_last = 5}});
  }
  for (const char* type : {"turbo:k8v3", "k=turbo4,v=turbo8", "q8g64"})
    all.push_back({"tiny-gemma3", type, {}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Models, KvExactness, testing::ValuesIn(cases()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace kvern::model
