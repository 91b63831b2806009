// Cancelling in every state of a request: storage is back, and the next request gets what it gets alone.
#include <gmock/gmock.h>
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
using test::run_all;
using test::run_cold;
using test::submit;
using test::tokens_of;

constexpr int64_t kChunk = 16;

class CancelTest : public testing::Test {
 protected:
  void SetUp() override {
    EngineOptions options{.context_tokens = 256, .chunk_tokens = kChunk};
    options.kv.page = 16;
    options.kv_budget_bytes = 0;
    ASSERT_OK_AND_ASSIGN(engine_, test::open_bundled(options));
    batch_ = std::make_unique<Batch>(*engine_, *clock_, LoopOptions{});
    bystander_ = submit(*batch_, bystander_request_);
    while (bystander_->choices.empty()) batch_->step();
  }
  /// Cancels `ticket`, and checks that one step later nothing of it is left.
  void expect_gone(Ticket ticket, const RecordingSink& sink, size_t live_before) {
    batch_->cancel(ticket);
    batch_->step();
    ASSERT_TRUE(sink.end);
    EXPECT_EQ(batch_->rows().size(), 1U);
    // The bystander may have taken a page meanwhile.
    EXPECT_LE(engine_->kv().live_bytes(), live_before + engine_->kv().projected_bytes(1));
    run_all(*batch_);
    expect_same(*bystander_, *run_cold(*engine_, bystander_request_));
    EXPECT_EQ(engine_->kv().live_bytes(), 0U);
    const auto next = submit(*batch_, request_);
    run_all(*batch_);
    expect_same(*next, *run_cold(*engine_, request_));
    EXPECT_EQ(batch_->stats().requests_cancelled, 1U);
  }

  const ServiceRequest bystander_request_ = request_for(tokens_of(77, 20), 60);
  const ServiceRequest request_ = request_for(tokens_of(1, 3 * kChunk), 12);
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Batch> batch_;
  std::shared_ptr<RecordingSink> bystander_;
};

// Cases B50, B59: queued, after chunks of the prompt, after the last one, at the first token, while decoding.
TEST_F(CancelTest, B50_in_the_queue) {
  const size_t live = engine_->kv().live_bytes();
  auto sink = std::make_shared<RecordingSink>();
  ASSERT_OK_AND_ASSIGN(const Ticket ticket, batch_->submit(request_, sink));
  expect_gone(ticket, *sink, live);
  EXPECT_EQ(sink->choices[0].reason, FinishReason::kCancelled);
  EXPECT_EQ(sink->end->prompt_tokens, 0);
}

class CancelAfterSteps : public CancelTest, public testing::WithParamInterface<int> {};

TEST_P(CancelAfterSteps, B50_B59_gives_everything_back_within_a_step) {
  const size_t live = engine_->kv().live_bytes();
  auto sink = std::make_shared<RecordingSink>();
  ASSERT_OK_AND_ASSIGN(const Ticket ticket, batch_->submit(request_, sink));
  for (int i = 0; i < GetParam(); ++i) batch_->step();
  ASSERT_FALSE(sink->over());
  ASSERT_GT(engine_->kv().live_bytes(), live);
  expect_gone(ticket, *sink, live);
  EXPECT_EQ(sink->choices[0].reason, FinishReason::kCancelled);
}

// The bystander decodes, so chunks have 32 tokens: the second step computes the last one and the first token.
INSTANTIATE_TEST_SUITE_P(Steps, CancelAfterSteps, testing::Values(1, 2, 3, 7));

TEST_F(CancelTest, B61_ends_all_choices) {
  const size_t live = engine_->kv().live_bytes();
  ServiceRequest request = request_;
  request.choices = 3;
  auto sink = std::make_shared<RecordingSink>();
  ASSERT_OK_AND_ASSIGN(const Ticket ticket, batch_->submit(request, sink));
  while (sink->choices.empty() || sink->choices[0].ids.size() < 2) batch_->step();
  EXPECT_EQ(batch_->rows().size(), 4U);
  expect_gone(ticket, *sink, live);
  ASSERT_EQ(sink->choices.size(), 3U);
  for (const auto& choice : sink->choices) EXPECT_EQ(choice.reason, FinishReason::kCancelled);
}

TEST_F(CancelTest, B59_what_was_computed_is_kept_for_the_retry) {
  LoopOptions options;
  options.prefix.max_bytes = size_t{1} << 30;
  Batch batch(*engine_, *clock_, options);
  auto sink = std::make_shared<RecordingSink>();
  ASSERT_OK_AND_ASSIGN(const Ticket ticket, batch.submit(request_, sink));
  batch.step();
  batch.step();
  batch.cancel(ticket);
  run_all(batch);
  EXPECT_EQ(sink->end->prompt_tokens, 2 * kChunk);
  const auto again = submit(batch, request_);
  run_all(batch);
  EXPECT_EQ(again->end->cached_tokens, 2 * kChunk);
  expect_same(*again, *run_cold(*engine_, request_));
}

TEST_F(CancelTest, a_request_that_follows_another_can_be_cancelled_and_outlives_its_leader) {
  auto leader = std::make_shared<RecordingSink>();
  const auto leader_ticket = batch_->submit(request_, leader);
  batch_->step();
  auto cancelled = std::make_shared<RecordingSink>();
  const auto cancelled_ticket = batch_->submit(request_, cancelled);
  const auto follower = submit(*batch_, request_);
  batch_->step();
  batch_->cancel(*cancelled_ticket);
  batch_->cancel(*leader_ticket);
  run_all(*batch_);
  EXPECT_TRUE(leader->end && cancelled->end);
  expect_same(*follower, *run_cold(*engine_, request_));
  EXPECT_EQ(engine_->kv().live_bytes(), 0U);
}

TEST_F(CancelTest, is_ignored_for_what_has_ended_or_never_was) {
  auto sink = std::make_shared<RecordingSink>();
  ASSERT_OK_AND_ASSIGN(const Ticket ticket, batch_->submit(request_for(tokens_of(1, 5), 1), sink));
  while (!sink->over()) batch_->step();
  batch_->cancel(ticket);
  batch_->cancel(ticket);
  batch_->cancel(Ticket{12345});
  run_all(*batch_);
  EXPECT_EQ(batch_->stats().requests_cancelled, 0U);
}

// Case B61: the cancellation of one request never hits the next.
TEST_F(CancelTest, B61_a_thousand_cancellations_beside_new_requests) {
  const ServiceRequest short_request = request_for(tokens_of(3, 4), 2);
  const auto expected = run_cold(*engine_, short_request);
  Ticket last{};
  std::vector<std::shared_ptr<RecordingSink>> kept;
  for (int i = 0; i < 1000; ++i) {
    auto victim = std::make_shared<RecordingSink>();
    ASSERT_OK_AND_ASSIGN(const Ticket ticket, batch_->submit(short_request, victim));
    EXPECT_GT(ticket, last);
    last = ticket;
    if (i % 3 == 0) batch_->step();
    batch_->cancel(ticket);
    auto next = submit(*batch_, short_request);
    if (i % 50 == 0) kept.push_back(next);
    run_all(*batch_);
    ASSERT_TRUE(victim->end && next->end);
  }
  for (const auto& sink : kept) expect_same(*sink, *expected);
  EXPECT_EQ(engine_->kv().live_bytes(), 0U);
}

TEST_F(CancelTest, a_batch_that_goes_cancels_what_is_open) {
  const auto running = submit(*batch_, request_);
  batch_->step();
  const auto waiting = submit(*batch_, request_);
  batch_.reset();
  for (const auto& sink : {running, waiting, bystander_}) {
    ASSERT_TRUE(sink->end);
    EXPECT_EQ(sink->choices[0].reason, FinishReason::kCancelled);
  }
  EXPECT_EQ(engine_->kv().live_bytes(), 0U);
}

}  // namespace
}  // namespace kvern::engine
