// Long prompts beside streams: the whole loop, where plan_test has the plan alone.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "engine/loop/batch.h"
#include "engine/support/engines.h"
#include "engine/support/generation.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using test::expect_same;
using test::RecordingSink;
using test::request_for;
using test::run_all;
using test::run_cold;
using test::submit;
using test::tokens_of;

constexpr size_t kStreams = 8;
constexpr size_t kLongPrompt = 4000;

class LongPromptTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto files = make_memory_files();
    ASSERT_OK(test::write_synthetic(*files));
    EngineOptions options{.model_path = "/model.gguf", .threads = 2, .context_tokens = 4224};
    options.kv.page = 16;
    ASSERT_OK_AND_ASSIGN(engine_, Engine::open(*files, options));
    batch_.emplace(*engine_, *clock_, LoopOptions());
    for (uint64_t i = 0; i < kStreams; ++i) {
      requests_.push_back(request_for(tokens_of(i, 5 + i), 700));
      requests_.back().client = "streams";
      sinks_.push_back(submit(*batch_, requests_.back()));
    }
    while (std::ranges::any_of(sinks_, [](const auto& sink) { return sink->choices.empty(); }))
      batch_->step();
  }

  std::shared_ptr<RecordingSink> submit_long(uint64_t seed) {
    requests_.push_back(request_for(tokens_of(100 + seed, kLongPrompt), 3));
    requests_.back().client = "long " + std::to_string(seed);
    sinks_.push_back(submit(*batch_, requests_.back()));
    return sinks_.back();
  }

  /// One step, in which each stream gets one token. The prompt tokens that were computed beside them.
  int64_t step_beside_streams() {
    std::vector<size_t> before;
    for (size_t i = 0; i < kStreams; ++i) before.push_back(sinks_[i]->choices[0].ids.size());
    const uint64_t computed = batch_->stats().computed_tokens;
    batch_->step();
    for (size_t i = 0; i < kStreams; ++i) {
      EXPECT_EQ(sinks_[i]->choices[0].ids.size(), before[i] + 1) << "stream " << i << " was left out";
    }
    return static_cast<int64_t>(batch_->stats().computed_tokens - computed);
  }

  void expect_all_as_alone() {
    run_all(*batch_);
    for (size_t i = 0; i < sinks_.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "request " << i);
      expect_same(*sinks_[i], *run_cold(*engine_, requests_[i]));
    }
  }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Engine> engine_;
  std::optional<Batch> batch_;
  std::vector<ServiceRequest> requests_;
  std::vector<std::shared_ptr<RecordingSink>> sinks_;
};

TEST_F(LongPromptTest, B55_every_stream_gets_a_token_in_each_step_while_a_long_prompt_is_computed) {
  const int64_t most = LoopOptions().mixed_tokens;
  const auto prompt = submit_long(1);
  int64_t steps = 0;
  while (prompt->choices.empty() && !testing::Test::HasFailure()) {
    const int64_t computed = step_beside_streams();
    EXPECT_LE(computed, most);
    EXPECT_GT(computed, 0) << "the prompt was left out";
    ++steps;
  }
  // It gets all that streams leave it: it is no later than its size makes it.
  EXPECT_EQ(steps, static_cast<int64_t>(kLongPrompt) / most);
  expect_all_as_alone();
}

TEST_F(LongPromptTest, B55_two_long_prompts_take_no_more_of_a_step_than_one_and_alternate) {
  const int64_t most = LoopOptions().mixed_tokens;
  const auto first = submit_long(1);
  const auto second = submit_long(2);
  const auto computed_of = [](const RecordingSink& sink) {
    return sink.prompts.empty() ? 0 : sink.prompts.back().computed;
  };
  int64_t apart = 0;
  while (first->choices.empty() && !testing::Test::HasFailure()) {
    EXPECT_LE(step_beside_streams(), most);
    apart = std::max(apart, std::abs(computed_of(*first) - computed_of(*second)));
  }
  EXPECT_LE(apart, PromptTurn::kTurnTokens);
  while (second->choices.empty() && !testing::Test::HasFailure()) EXPECT_LE(step_beside_streams(), most);
  expect_all_as_alone();
}

}  // namespace
}  // namespace kvern::engine
