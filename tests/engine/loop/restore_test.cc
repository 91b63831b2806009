// Requests whose beginning is in a tier: they wait for it, hold nobody up, and get what they get without.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/loop/batch.h"
#include "engine/support/engines.h"
#include "engine/support/fake_tier.h"
#include "engine/support/generation.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using std::chrono::milliseconds;
using test::expect_same;
using test::FakeTier;
using test::request_for;
using test::run_all;
using test::run_cold;
using test::submit;
using test::tokens_of;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class RestoreTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto opened = open(0);
    ASSERT_OK(opened);
    engine_ = std::move(*opened).release();
  }
  static void TearDownTestSuite() { delete engine_; }
  static Result<std::unique_ptr<Engine>> open(size_t budget, std::string layout = "paged") {
    EngineOptions options{.context_tokens = 256, .chunk_tokens = 32};
    options.kv = {.layout = std::move(layout), .page = 16};
    options.kv_budget_bytes = budget;
    return test::open_bundled(options);
  }

  LoopOptions options(size_t prefix_bytes = size_t{1} << 30) {
    LoopOptions options;
    options.prefix.max_bytes = prefix_bytes;
    options.tiers.tiers.push_back({.tier = &tier_});
    options.tiers.settle = milliseconds(0);
    return options;
  }
  /// Saves the row of a request whose prompt this is, with 8 tokens of its answer.
  void save(const std::vector<TokenId>& prompt, const std::string& name_space = "") {
    ServiceRequest request = request_for(prompt, 9);
    request.cache_namespace = name_space;
    Batch batch(*engine_, *clock_, options());
    submit(batch, request);
    run_all(batch);
    EXPECT_TRUE(batch.flush(clock_->now() + std::chrono::seconds(10)).durable);
  }
  static std::string states(const Batch& batch) {
    std::string text;
    for (const RowInfo& row : batch.rows()) text += row.state + " ";
    return text;
  }
  static void steps(Batch& batch, int count) {
    for (int i = 0; i < count; ++i) batch.step();
  }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  FakeTier tier_;
  static Engine* engine_;
};
Engine* RestoreTest::engine_ = nullptr;

TEST_F(RestoreTest, takes_from_a_tier_what_memory_has_not_got) {
  const ServiceRequest request = request_for(tokens_of(1, 100), 12);
  save(request.generate.prompt);
  ASSERT_THAT(tier_.stored(), SizeIs(1));
  EXPECT_THAT(tier_.stored()[0].tokens, SizeIs(108));  // the answer is part of it
  Batch batch(*engine_, *clock_, options());
  const auto sink = submit(batch, request);
  run_all(batch);
  expect_same(*sink, *run_cold(*engine_, request));
  EXPECT_EQ(sink->end->cached_tokens, 99);
  const ServiceStats stats = batch.stats();
  ASSERT_THAT(stats.restores, SizeIs(1));
  EXPECT_EQ(stats.restores[0].restores, 1U);
  EXPECT_EQ(stats.restores[0].tokens, 99U);
  EXPECT_EQ(stats.restores[0].cut_short, 0U);
  EXPECT_GT(stats.restores[0].bytes, 0U);
  EXPECT_EQ(stats.cached_tokens, 99U);
  EXPECT_EQ(stats.computed_tokens, 1U);
}

TEST_F(RestoreTest, continues_a_conversation_with_its_answers) {
  ServiceRequest first = request_for(tokens_of(2, 60), 9);
  save(first.generate.prompt);
  ServiceRequest second = request_for(tier_.stored()[0].tokens, 10);
  const auto question = tokens_of(3, 20);
  second.generate.prompt.insert(second.generate.prompt.end(), question.begin(), question.end());
  Batch batch(*engine_, *clock_, options());
  const auto sink = submit(batch, second);
  run_all(batch);
  expect_same(*sink, *run_cold(*engine_, second));
  EXPECT_EQ(sink->end->cached_tokens, 68);
}

TEST_F(RestoreTest, asks_for_what_is_worth_the_wait_only) {
  const auto prompt = tokens_of(4, 100);
  Batch batch(*engine_, *clock_, options());
  submit(batch, request_for(prompt, 2));
  run_all(batch);
  EXPECT_THAT(tier_.lookups, ElementsAre(31));
  submit(batch, request_for(prompt, 2));  // memory has all of it
  submit(batch, request_for(tokens_of(5, 30), 2));
  run_all(batch);
  EXPECT_THAT(tier_.lookups, SizeIs(1));
  auto longer = prompt;
  longer.resize(200, 7);
  submit(batch, request_for(longer, 2));
  run_all(batch);
  EXPECT_THAT(tier_.lookups, ElementsAre(31, 131));
}

TEST_F(RestoreTest, holds_nobody_up_and_says_what_it_waits_for) {
  const ServiceRequest slow = request_for(tokens_of(6, 120), 8);
  const ServiceRequest other = request_for(tokens_of(7, 40), 8);
  save(slow.generate.prompt);
  tier_.arriving = 0;
  Batch batch(*engine_, *clock_, options());
  const auto waiting = submit(batch, slow);
  const auto running = submit(batch, other);
  steps(batch, 3);
  EXPECT_EQ(states(batch), "decode restoring ");
  EXPECT_EQ(batch.stats().restoring, 1);
  EXPECT_EQ(batch.waiting(), 1);
  steps(batch, 20);
  EXPECT_TRUE(running->over());
  EXPECT_FALSE(waiting->over());
  tier_.arriving = 3;
  steps(batch, 3);
  EXPECT_EQ(states(batch), "restoring ");
  tier_.arriving = 1000;
  run_all(batch);
  expect_same(*waiting, *run_cold(*engine_, slow));
  expect_same(*running, *run_cold(*engine_, other));
  EXPECT_EQ(waiting->end->cached_tokens, 119);
}

// Who asks a network must not stand still for its answer while a row waits for its next token.
TEST_F(RestoreTest, rows_that_run_do_not_wait_for_a_tier_that_has_to_ask) {
  const ServiceRequest running = request_for(tokens_of(7, 40), 30);
  const ServiceRequest late = request_for(tokens_of(6, 120), 4);
  save(late.generate.prompt);
  Batch batch(*engine_, *clock_, options());
  const auto first = submit(batch, running);
  steps(batch, 2);
  EXPECT_EQ(tier_.asked_ahead, 0);  // alone it may wait
  const size_t before = tier_.lookups.size();
  tier_.not_ready = 5;
  const auto second = submit(batch, late);
  steps(batch, 5);
  EXPECT_EQ(tier_.asked_ahead, 5);
  EXPECT_EQ(tier_.lookups.size(), before);
  EXPECT_EQ(batch.waiting(), 1);
  EXPECT_GE(first->choices.at(0).ids.size(), 5U);
  run_all(batch);
  EXPECT_EQ(tier_.lookups.size(), before + 1);
  EXPECT_EQ(second->end->cached_tokens, 119);
  expect_same(*first, *run_cold(*engine_, running));
  expect_same(*second, *run_cold(*engine_, late));
  // Nothing runs any more: the next one asks at once.
  tier_.not_ready = 1000;
  const auto third = submit(batch, request_for(tokens_of(8, 120), 2));
  run_all(batch);
  EXPECT_TRUE(third->over());
}

TEST_F(RestoreTest, copies_little_beside_rows_that_run) {
  const ServiceRequest slow = request_for(tokens_of(6, 120), 2);
  save(slow.generate.prompt);
  LoopOptions loop = options();
  loop.tiers.step_bytes = 1;  // a piece at least
  Batch batch(*engine_, *clock_, loop);
  submit(batch, request_for(tokens_of(8, 20), 200));
  batch.step();
  submit(batch, slow);
  int64_t most = 0;
  while (batch.stats().restores[0].restores == 0) {
    const int64_t before = tier_.arriving;
    batch.step();
    most = std::max(most, before - tier_.arriving);
  }
  EXPECT_EQ(most, 1);
}

TEST_F(RestoreTest, tells_tiers_when_rows_run) {
  Batch batch(*engine_, *clock_, options());
  submit(batch, request_for(tokens_of(6, 20), 3));
  run_all(batch);
  EXPECT_THAT(tier_.told_busy, ElementsAre(true, false));
}

TEST_F(RestoreTest, brings_once_what_several_wait_for) {
  auto prompt = tokens_of(9, 100);
  save(prompt);
  tier_.lookups.clear();
  std::vector<ServiceRequest> requests;
  for (uint64_t i = 0; i < 4; ++i) {
    requests.push_back(request_for(prompt, 6));
    const auto tail = tokens_of(100 + i, 20);
    requests.back().generate.prompt.insert(requests.back().generate.prompt.end(), tail.begin(), tail.end());
  }
  tier_.arriving = 0;
  Batch batch(*engine_, *clock_, options());
  std::vector<std::shared_ptr<test::RecordingSink>> sinks;
  for (const ServiceRequest& request : requests) sinks.push_back(submit(batch, request));
  steps(batch, 2);
  EXPECT_EQ(tier_.open_restores, 1);
  EXPECT_EQ(batch.stats().restoring, 4);
  tier_.arriving = 1000;
  run_all(batch);
  for (size_t i = 0; i < requests.size(); ++i) {
    expect_same(*sinks[i], *run_cold(*engine_, requests[i]));
    EXPECT_EQ(sinks[i]->end->cached_tokens, 100);
  }
  EXPECT_EQ(batch.stats().restores[0].restores, 1U);
}

TEST_F(RestoreTest, computes_what_turns_out_to_be_damaged) {
  const ServiceRequest request = request_for(tokens_of(10, 100), 6);
  save(request.generate.prompt);
  const auto expected = run_cold(*engine_, request);
  for (size_t damaged = 0; damaged < 4; ++damaged) {
    tier_.damaged = damaged;
    Batch batch(*engine_, *clock_, options());
    const auto sink = submit(batch, request);
    run_all(batch);
    expect_same(*sink, *expected);
    const int64_t whole = tier_.stored()[0].pieces[damaged].positions.begin;
    EXPECT_EQ(sink->end->cached_tokens, whole);
    EXPECT_EQ(batch.stats().restores[0].cut_short, 1U);
    EXPECT_EQ(batch.stats().restores[0].tokens, static_cast<uint64_t>(whole));
  }
}

TEST_F(RestoreTest, computes_again_what_came_whole_and_is_no_good) {
  const ServiceRequest request = request_for(tokens_of(11, 100), 6);
  save(request.generate.prompt);
  save(tokens_of(12, 60));
  tier_.poison();
  Batch batch(*engine_, *clock_, options());
  const auto expected = run_cold(*engine_, request);
  const auto sink = submit(batch, request);
  run_all(batch);
  expect_same(*sink, *expected);
  EXPECT_EQ(sink->end->cached_tokens, 0);
  EXPECT_EQ(batch.stats().restores[0].tokens, 99U);
  EXPECT_EQ(batch.stats().requests_failed, 0U);
  ASSERT_THAT(tier_.distrusted, SizeIs(1));
  EXPECT_THAT(tier_.distrusted[0], SizeIs(99));
  EXPECT_THAT(tier_.stored(), SizeIs(1));  // the other one, of which nobody knows
  // What is kept now is good.
  const auto again = submit(batch, request);
  run_all(batch);
  expect_same(*again, *expected);
  EXPECT_EQ(again->end->cached_tokens, 99);
  EXPECT_THAT(tier_.distrusted, SizeIs(1));
}

TEST_F(RestoreTest, fails_several_choices_of_what_is_no_good_once) {
  ServiceRequest request = request_for(tokens_of(13, 100), 6);
  save(request.generate.prompt);
  tier_.poison();
  request.choices = 2;
  Batch batch(*engine_, *clock_, options());
  const auto sink = submit(batch, request);
  run_all(batch);
  EXPECT_TRUE(sink->error);
  EXPECT_THAT(tier_.stored(), IsEmpty());
  const auto again = submit(batch, request);
  run_all(batch);
  EXPECT_FALSE(again->error);
}

// The prefix is as good as ever.
TEST_F(RestoreTest, keeps_what_is_saved_when_it_is_the_model_that_fails) {
  const ServiceRequest request = request_for(tokens_of(14, 100), 6);
  save(request.generate.prompt);
  LoopOptions failing = options();
  failing.hooks.before_sampling = [](Ticket, int32_t, std::span<float> logits) {
    logits[0] = std::numeric_limits<float>::quiet_NaN();
  };
  Batch batch(*engine_, *clock_, failing);
  const auto sink = submit(batch, request);
  run_all(batch);
  ASSERT_TRUE(sink->error);
  EXPECT_EQ(sink->error->code, ErrorCode::kCorrupt);
  EXPECT_THAT(tier_.distrusted, IsEmpty());
  EXPECT_THAT(tier_.stored(), SizeIs(1));
}

TEST_F(RestoreTest, computes_what_comes_too_late) {
  const ServiceRequest request = request_for(tokens_of(11, 100), 6);
  save(request.generate.prompt);
  ManualClock clock{{}};
  LoopOptions loop = options();
  loop.tiers.tiers[0].restore_timeout = milliseconds(100);
  for (const int64_t arriving : {0, 2}) {
    tier_.arriving = arriving;
    Batch batch(*engine_, clock, loop);
    const auto sink = submit(batch, request);
    steps(batch, 3);
    EXPECT_FALSE(sink->over());
    clock.advance(milliseconds(101));
    run_all(batch);
    expect_same(*sink, *run_cold(*engine_, request));
    EXPECT_EQ(sink->end->cached_tokens > 0, arriving > 0);
    EXPECT_EQ(tier_.open_restores, 0);
  }
  tier_.says_shape = false;
  Batch batch(*engine_, clock, loop);
  const auto sink = submit(batch, request);
  steps(batch, 3);
  clock.advance(milliseconds(101));
  run_all(batch);
  EXPECT_EQ(sink->end->cached_tokens, 0);
}

TEST_F(RestoreTest, ends_with_its_requests) {
  const ServiceRequest request = request_for(tokens_of(12, 100), 6);
  save(request.generate.prompt);
  tier_.arriving = 2;
  {
    Batch batch(*engine_, *clock_, options());
    auto first = std::make_shared<test::RecordingSink>();
    auto second = std::make_shared<test::RecordingSink>();
    ASSERT_OK_AND_ASSIGN(const Ticket one, batch.submit(request, first));
    ASSERT_OK_AND_ASSIGN(const Ticket two, batch.submit(request, second));
    steps(batch, 2);
    EXPECT_GT(engine_->kv().live_bytes(), 0U);
    batch.cancel(one);
    batch.step();
    EXPECT_EQ(first->choices[0].reason, FinishReason::kCancelled);
    EXPECT_EQ(tier_.open_restores, 1);
    batch.cancel(two);
    batch.step();
    EXPECT_TRUE(batch.idle());
    EXPECT_EQ(tier_.open_restores, 0);
    EXPECT_EQ(engine_->kv().live_bytes(), 0U);
  }
  tier_.arriving = 2;
  Batch batch(*engine_, *clock_, options());
  ServiceRequest late = request;
  late.deadline = clock_->now() + milliseconds(1);
  const auto sink = submit(batch, late);
  while (!batch.idle()) batch.step();
  ASSERT_TRUE(sink->error);
  EXPECT_EQ(sink->error->where, "deadline");
  EXPECT_EQ(tier_.open_restores, 0);
  EXPECT_EQ(engine_->kv().live_bytes(), 0U);
}

TEST_F(RestoreTest, ends_with_the_batch) {
  const ServiceRequest request = request_for(tokens_of(12, 100), 6);
  save(request.generate.prompt);
  tier_.arriving = 2;
  {
    Batch batch(*engine_, *clock_, options());
    submit(batch, request);
    steps(batch, 2);
  }
  EXPECT_EQ(tier_.open_restores, 0);
  EXPECT_EQ(engine_->kv().live_bytes(), 0U);
}

TEST_F(RestoreTest, neither_looks_up_nor_saves_what_is_not_to_be_reused) {
  ServiceRequest request = request_for(tokens_of(13, 100), 6);
  save(request.generate.prompt);
  tier_.lookups.clear();
  tier_.offered.clear();
  request.reuse_prefix = false;
  Batch batch(*engine_, *clock_, options());
  const auto sink = submit(batch, request);
  run_all(batch);
  EXPECT_TRUE(batch.flush(clock_->now()).durable);
  EXPECT_EQ(sink->end->cached_tokens, 0);
  EXPECT_THAT(tier_.lookups, IsEmpty());
  EXPECT_THAT(tier_.offered, IsEmpty());
}

TEST_F(RestoreTest, keeps_namespaces_apart) {
  ServiceRequest request = request_for(tokens_of(14, 100), 6);
  save(request.generate.prompt, "alice");
  Batch batch(*engine_, *clock_, options());
  for (const auto& [name, cached] : {std::pair("bob", 0), std::pair("", 0), std::pair("alice", 99)}) {
    request.cache_namespace = name;
    const auto sink = submit(batch, request);
    run_all(batch);
    EXPECT_EQ(sink->end->cached_tokens, cached) << name;
  }
}

TEST_F(RestoreTest, works_without_memory_for_kept_prefixes) {
  const ServiceRequest request = request_for(tokens_of(15, 100), 6);
  Batch batch(*engine_, *clock_, options(0));
  submit(batch, request);
  run_all(batch);
  ASSERT_THAT(tier_.stored(), SizeIs(1));
  std::vector<std::shared_ptr<test::RecordingSink>> sinks;
  for (int i = 0; i < 3; ++i) sinks.push_back(submit(batch, request));
  run_all(batch);
  for (const auto& sink : sinks) {
    expect_same(*sink, *run_cold(*engine_, request));
    EXPECT_EQ(sink->end->cached_tokens, 99);
  }
  EXPECT_EQ(batch.stats().restores[0].restores, 1U);
  EXPECT_EQ(batch.stats().prefix_entries, 0);
}

TEST_F(RestoreTest, prefers_the_nearest_tier_unless_a_farther_one_gives_more) {
  const auto prompt = tokens_of(16, 120);
  FakeTier far;
  save(prompt);
  auto shorter = prompt;
  shorter.resize(60);
  LoopOptions loop = options();
  loop.tiers.tiers.push_back({.tier = &far});
  // Both get the shorter one.
  {
    Batch batch(*engine_, *clock_, loop);
    tier_.forget_all();
    submit(batch, request_for(shorter, 1));
    run_all(batch);
    batch.flush(clock_->now() + std::chrono::seconds(10));
  }
  ASSERT_THAT(far.stored(), SizeIs(1));
  ASSERT_THAT(tier_.stored(), SizeIs(1));
  {
    Batch batch(*engine_, *clock_, loop);
    submit(batch, request_for(prompt, 1));
    run_all(batch);
    EXPECT_EQ(batch.stats().restores[0].tokens, 60U);
    EXPECT_EQ(batch.stats().restores[1].restores, 0U);
    batch.flush(clock_->now() + std::chrono::seconds(10));
  }
  tier_.forget_all();
  Batch batch(*engine_, *clock_, loop);
  const auto sink = submit(batch, request_for(prompt, 1));
  run_all(batch);
  EXPECT_EQ(sink->end->cached_tokens, 119);
  EXPECT_EQ(batch.stats().restores[1].tokens, 119U);
}

// The budget is for restores, too: rows that run keep theirs, and nothing fails.
TEST_F(RestoreTest, keeps_the_budget) {
  std::vector<ServiceRequest> requests;
  std::vector<std::shared_ptr<test::RecordingSink>> expected;
  for (uint64_t i = 0; i < 4; ++i) {
    requests.push_back(request_for(tokens_of(20 + i, 120), 50));
    expected.push_back(run_cold(*engine_, requests.back()));
  }
  for (const char* layout : {"paged", "slab"}) {
    ASSERT_OK_AND_ASSIGN(const auto roomy, open(0, layout));
    const size_t budget = roomy->kv().projected_bytes(256) * 3 / 2;
    ASSERT_OK_AND_ASSIGN(const auto tight, open(budget, layout));
    FakeTier tier;
    LoopOptions loop = options(budget / 2);
    loop.tiers.tiers = {{.tier = &tier}};
    for (int round = 0; round < 2; ++round) {
      Batch batch(*tight, *clock_, loop);
      std::vector<std::shared_ptr<test::RecordingSink>> sinks;
      for (const ServiceRequest& request : requests) sinks.push_back(submit(batch, request));
      while (!batch.idle()) {
        batch.step();
        ASSERT_LE(tight->kv().allocated_bytes(), budget);
      }
      for (size_t i = 0; i < requests.size(); ++i) {
        SCOPED_TRACE(testing::Message() << layout << ", round " << round << ", request " << i);
        expect_same(*sinks[i], *expected[i]);
        EXPECT_EQ(sinks[i]->end->cached_tokens > 0, round == 1);
      }
      batch.flush(clock_->now() + std::chrono::seconds(10));
    }
    EXPECT_EQ(tight->kv().live_bytes(), 0U);
  }
}

TEST_F(RestoreTest, B53_gives_way_to_rows_that_run) {
  ASSERT_OK_AND_ASSIGN(const auto roomy, open(0));
  const size_t budget = roomy->kv().projected_bytes(256);
  ASSERT_OK_AND_ASSIGN(const auto tight, open(budget));
  const ServiceRequest waiting = request_for(tokens_of(30, 100), 4);
  FakeTier tier;
  LoopOptions loop = options(budget / 2);
  loop.tiers.tiers = {{.tier = &tier}};
  {
    Batch batch(*tight, *clock_, loop);
    submit(batch, waiting);
    run_all(batch);
    batch.flush(clock_->now() + std::chrono::seconds(10));
  }
  tier.arriving = 2;  // and then never any more
  Batch batch(*tight, *clock_, loop);
  const ServiceRequest growing = request_for(tokens_of(31, 60), 180);
  const auto first = submit(batch, growing);
  batch.step();
  const auto second = submit(batch, waiting);
  run_all(batch);
  expect_same(*first, *run_cold(*roomy, growing));
  expect_same(*second, *run_cold(*roomy, waiting));
  EXPECT_EQ(batch.stats().restores[0].cut_short, 1U);
}

// What is evicted while it is saved stays in memory until then: a row that needs it waits, alone.
TEST_F(RestoreTest, waits_for_storage_that_is_being_saved) {
  ASSERT_OK_AND_ASSIGN(const auto roomy, open(0));
  const size_t budget = roomy->kv().projected_bytes(240);
  const ServiceRequest large = request_for(tokens_of(41, 150), 80);
  const auto expected = run_cold(*roomy, large);
  for (const bool saves : {true, false}) {
    ASSERT_OK_AND_ASSIGN(const auto tight, open(budget));
    ManualClock clock{{}};
    FakeTier tier;
    tier.saves_at_once = false;
    {
      LoopOptions loop = options(budget);
      loop.tiers.tiers = {{.tier = &tier}};
      Batch batch(*tight, clock, loop);
      submit(batch, request_for(tokens_of(40, 100), 2));
      run_all(batch);
      batch.step();
      ASSERT_THAT(tier.offered, SizeIs(1));
      const auto sink = submit(batch, large);
      steps(batch, 100);
      EXPECT_FALSE(sink->over());
      const int64_t before = batch.rows()[0].generated_tokens;
      steps(batch, 10);
      EXPECT_EQ(batch.rows()[0].generated_tokens, before);
      EXPECT_EQ(batch.stats().prefix_entries, 0);
      if (saves) {
        tier.save_waiting();
        run_all(batch);
        expect_same(*sink, *expected);
      } else {
        clock.advance(std::chrono::seconds(31));
        batch.step();
        ASSERT_TRUE(sink->error);
        EXPECT_EQ(sink->error->code, ErrorCode::kExhausted);
      }
    }
    tier.drop_waiting();
  }
}

}  // namespace
}  // namespace kvern::engine
