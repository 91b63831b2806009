// The bound of rows that were moved out: what might outgrow it waits, and nothing is lost.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "engine/loop/batch.h"
#include "engine/support/engines.h"
#include "engine/support/generation.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using test::expect_same;
using test::RecordingSink;
using test::request_for;
using test::run_cold;
using test::submit;
using test::tokens_of;

constexpr int64_t kContext = 256;

struct OutsideCase {
  const char* name;
  const char* layout;
  size_t rows;     // of the longest kind, that the budget holds
  int64_t limit;   // in tokens of one row
  bool moves_out;  // what the traffic below comes to
};

class OutsideTest : public testing::TestWithParam<OutsideCase> {
 protected:
  Result<std::unique_ptr<Engine>> open(size_t budget) {
    EngineOptions options{.context_tokens = kContext, .chunk_tokens = 32};
    options.kv = {.type = "f16", .layout = GetParam().layout, .page = 16};
    options.kv_budget_bytes = budget;
    return test::open_bundled(options);
  }
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(roomy_, open(0));
    std::mt19937 random(3);
    for (uint64_t i = 0; i < 10; ++i) {
      // Long answers to short prompts: what a row comes to need is not seen when it joins.
      requests_.push_back(
          request_for(tokens_of(i, 4 + random() % 40), 20 + static_cast<int64_t>(random() % 160)));
      if (i % 5 == 4) requests_.back().choices = 2;
      if (i % 5 == 4) requests_.back().generate.max_new_tokens = 30;
      requests_.back().generate.sampling.temperature = i % 2 == 0 ? 0 : 1;
      requests_.back().client = std::to_string(i % 3);
    }
  }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Engine> roomy_;
  std::vector<ServiceRequest> requests_;
};

TEST_P(OutsideTest, B58_never_takes_more_than_it_may_and_everything_ends_as_it_would_alone) {
  const size_t budget = roomy_->kv().projected_bytes(kContext) * GetParam().rows;
  const size_t limit = GetParam().limit == 0 ? 0 : roomy_->kv().projected_bytes(GetParam().limit);
  ASSERT_OK_AND_ASSIGN(const auto engine, open(budget));
  Batch batch(*engine, *clock_, {.max_rows = 8, .outside_bytes = limit});
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  size_t most_outside = 0;
  int64_t most_running = 0;
  for (const ServiceRequest& request : requests_) {
    sinks.push_back(submit(batch, request));
    batch.step();
  }
  for (int step = 0; !batch.idle(); ++step) {
    batch.step();
    const ServiceStats stats = batch.stats();
    ASSERT_LE(stats.outside_bytes, limit);
    ASSERT_LE(engine->kv().allocated_bytes(), budget);
    most_outside = std::max(most_outside, stats.outside_bytes);
    most_running = std::max(most_running, stats.running);
    ASSERT_LT(step, 10'000) << "the batch makes no progress";
  }
  EXPECT_EQ(most_outside > 0, GetParam().moves_out);
  EXPECT_GT(most_running, 1) << "a bound is no reason to run one by one";
  EXPECT_EQ(batch.stats().computed_tokens + batch.stats().cached_tokens, batch.stats().prompt_tokens);
  EXPECT_EQ(batch.stats().moved_in, batch.stats().moved_out);
  for (size_t i = 0; i < requests_.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "request " << i);
    expect_same(*sinks[i], *run_cold(*roomy_, requests_[i]));
  }
}

/// Rows of pages that share what they have.
class SharingTest : public testing::Test {
 protected:
  static constexpr int64_t kPage = 16;
  void open(int64_t budget_pages) {
    EngineOptions options{.context_tokens = 1024, .chunk_tokens = 256};
    options.kv = {.type = "f16", .layout = "paged", .page = kPage};
    ASSERT_OK_AND_ASSIGN(const auto any, test::open_bundled(options));
    const size_t page = any->kv().projected_bytes(kPage);
    options.kv_budget_bytes = static_cast<size_t>(budget_pages) * page;
    ASSERT_OK_AND_ASSIGN(engine_, test::open_bundled(options));
    limit_ = *options.kv_budget_bytes / 4;
    LoopOptions loop{.max_rows = 64, .outside_bytes = limit_};
    loop.prefix.max_bytes = *options.kv_budget_bytes / 2;
    batch_.emplace(*engine_, *clock_, loop);
  }
  void step() {
    batch_->step();
    most_running_ = std::max(most_running_, batch_->stats().running);
    ASSERT_LE(batch_->stats().outside_bytes, limit_);
  }
  void run() {
    for (int steps = 0; !batch_->idle(); ++steps) {
      step();
      if (HasFatalFailure()) return;
      ASSERT_LT(steps, 10'000) << "the batch makes no progress";
    }
  }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Engine> engine_;
  size_t limit_ = 0;
  std::optional<Batch> batch_;
  int64_t most_running_ = 0;
};

// Of the page in which the prompt ends each choice needs its own: 84 pages, and not 81.
TEST_F(SharingTest, B58_the_last_page_of_a_prompt_is_each_choices_own) {
  open(128);
  ServiceRequest choices = request_for(tokens_of(1, 70), 310);
  choices.choices = 4;
  choices.generate.ignore_end_tokens = true;
  submit(*batch_, choices);
  for (int i = 0; i < 76; ++i) step();  // so that both end together
  ServiceRequest other = request_for(tokens_of(2, 507), 230);
  other.generate.ignore_end_tokens = true;
  submit(*batch_, other);
  run();
  EXPECT_EQ(most_running_, 5) << "they run together as long as they can";
}

// Each of them copies the page in which the prompt ends before it writes to it.
TEST_F(SharingTest, B58_a_page_that_was_kept_is_copied_by_all_that_write_to_it) {
  open(40);
  submit(*batch_, request_for(tokens_of(1, 140), 4));
  run();
  for (int i = 0; i < 24; ++i) submit(*batch_, request_for(tokens_of(1, 140), 20));
  run();
  EXPECT_GT(most_running_, 8) << "what they share is counted once";
}

INSTANTIATE_TEST_SUITE_P(Bounds, OutsideTest,
                         testing::Values(OutsideCase{"pages_none", "paged", 1, 0, false},
                                         OutsideCase{"pages_some", "paged", 1, 224, true},
                                         OutsideCase{"pages_much", "paged", 1, 512, true},
                                         OutsideCase{"slabs_none", "slab", 3, 0, false},
                                         OutsideCase{"padded_some", "padded", 2, 256, true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace kvern::engine
