// Batches that do not fit: rows wait, move out and come back, and lose nothing.
#include <map>

#include <gmock/gmock.h>
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

class MemoryTest : public testing::Test {
 protected:
  static Result<std::unique_ptr<Engine>> open(size_t budget, std::string layout = "paged") {
    EngineOptions options{.context_tokens = 256, .chunk_tokens = 32};
    options.kv = {.type = "f16", .layout = std::move(layout), .page = 16};
    options.kv_budget_bytes = budget;
    return test::open_bundled(options);
  }
  void SetUp() override { ASSERT_OK_AND_ASSIGN(roomy_, open(0)); }
  size_t bytes(int64_t tokens) const { return roomy_->kv().projected_bytes(tokens); }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Engine> roomy_;
};

/// Writes down how far each request was when it moved.
struct MoveLog {
  void look(const Batch& batch) {
    for (const RowInfo& row : batch.rows()) {
      const auto key = std::pair(row.ticket, row.choice);
      const bool outside = row.state == "outside";
      const int64_t tokens = row.computed_tokens + row.generated_tokens;
      if (outside && !was_outside[key]) {
        if (moved_at.contains(key)) least_between = std::min(least_between, tokens - moved_at[key]);
        moved_at[key] = tokens;
        ++moves;
      }
      was_outside[key] = outside;
    }
  }
  std::map<std::pair<Ticket, int32_t>, bool> was_outside;
  std::map<std::pair<Ticket, int32_t>, int64_t> moved_at;
  int64_t least_between = INT64_MAX;
  int moves = 0;
};

// Case B53: a pool for 10 pages of 16, and rows that need nearly all of them at their ends.
TEST_F(MemoryTest, B53_rows_move_out_and_back_without_gap_repeat_or_other_bytes) {
  ASSERT_OK_AND_ASSIGN(const auto engine, open(bytes(160)));
  Batch batch(*engine, *clock_, {.outside_bytes = bytes(6 * 144)});
  std::vector<ServiceRequest> requests;
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  for (uint64_t i = 0; i < 6; ++i) {
    requests.push_back(request_for(tokens_of(10 + i, 4 + i), 140));
    sinks.push_back(submit(batch, requests.back()));
  }
  MoveLog log;
  while (!batch.idle()) {
    batch.step();
    log.look(batch);
    ASSERT_LE(engine->kv().allocated_bytes(), bytes(160));
  }
  EXPECT_GT(log.moves, 3);
  EXPECT_GE(log.least_between, kTokensBetweenMoves);
  for (size_t i = 0; i < sinks.size(); ++i) {
    expect_same(*sinks[i], *run_cold(*roomy_, requests[i]));
    EXPECT_EQ(sinks[i]->end->cached_tokens, 0);  // B67: coming back is no hit
  }
  EXPECT_EQ(batch.stats().moved_in, batch.stats().moved_out);
  EXPECT_EQ(batch.stats().computed_tokens, batch.stats().prompt_tokens);
}

// Case B54: rows that fit alone, but not together.
TEST_F(MemoryTest, B54_all_finish_and_nobody_sees_an_error) {
  for (const std::string layout : {"paged", "slab", "padded"}) {
    SCOPED_TRACE(layout);
    ASSERT_OK_AND_ASSIGN(const auto free, open(0, layout));
    ASSERT_OK_AND_ASSIGN(const auto engine, open(free->kv().projected_bytes(256), layout));
    Batch batch(*engine, *clock_, {});
    std::vector<ServiceRequest> requests;
    std::vector<std::shared_ptr<RecordingSink>> sinks;
    for (uint64_t i = 0; i < 4; ++i) {
      requests.push_back(request_for(tokens_of(i, 180), 50));
      requests.back().generate.hash_logits = i == 0;
      sinks.push_back(submit(batch, requests.back()));
    }
    run_all(batch);
    for (size_t i = 0; i < sinks.size(); ++i) expect_same(*sinks[i], *run_cold(*roomy_, requests[i]));
  }
}

TEST_F(MemoryTest, a_request_that_fills_the_budget_exactly_runs) {
  for (const std::string layout : {"paged", "slab", "ring", "padded"}) {
    SCOPED_TRACE(layout);
    ASSERT_OK_AND_ASSIGN(const auto free, open(0, layout));
    for (const int64_t tokens : {16, 100, 256}) {
      ASSERT_OK_AND_ASSIGN(const auto engine, open(free->kv().projected_bytes(tokens), layout));
      Batch batch(*engine, *clock_, {});
      const ServiceRequest request = request_for(tokens_of(1, 10), tokens - 9);
      const auto sink = submit(batch, request);
      run_all(batch);
      expect_same(*sink, *run_cold(*roomy_, request));
    }
  }
}

// Full precision up to the 96th token, both forms in the step that reaches it, then far less.
TEST_F(MemoryTest, what_is_admitted_alone_ends_also_when_it_is_encoded_on_the_way) {
  const auto open_later = [](size_t budget, const std::string& layout) {
    EngineOptions options{.context_tokens = 256, .chunk_tokens = 32};
    options.kv = {.type = "q2", .layout = layout, .page = 16, .quant_start = 96};
    options.kv_budget_bytes = budget;
    return test::open_bundled(options);
  };
  std::vector<ServiceRequest> requests;
  std::vector<std::shared_ptr<RecordingSink>> expected;
  ASSERT_OK_AND_ASSIGN(const auto unbounded, open_later(0, "paged"));
  for (const auto& [prompt, more] :
       {std::pair{60, 20}, {60, 36}, {60, 37}, {60, 38}, {94, 2}, {95, 2}, {96, 2}, {10, 100}, {200, 9}}) {
    requests.push_back(request_for(tokens_of(1, static_cast<size_t>(prompt)), more));
    expected.push_back(run_cold(*unbounded, requests.back()));
  }
  for (const std::string layout : {"paged", "slab", "ring", "padded"}) {
    ASSERT_OK_AND_ASSIGN(const auto free, open_later(0, layout));
    for (const int64_t end : {95, 96}) {
      SCOPED_TRACE(layout + " up to " + std::to_string(end));
      ASSERT_OK_AND_ASSIGN(const auto engine, open_later(free->kv().peak_bytes({.end = end}), layout));
      int admitted = 0;
      for (size_t i = 0; i < requests.size(); ++i) {
        Batch batch(*engine, *clock_, {});
        const auto sink = std::make_shared<RecordingSink>();
        if (!batch.submit(requests[i], sink)) continue;
        ++admitted;
        run_all(batch);
        expect_same(*sink, *expected[i]);
      }
      EXPECT_EQ(admitted, end == 95 ? 3 : 9);
    }
  }
}

TEST_F(MemoryTest, what_cannot_fit_alone_is_refused_with_numbers_and_advice) {
  ASSERT_OK_AND_ASSIGN(const auto engine, open(bytes(64)));
  Batch batch(*engine, *clock_, {});
  const auto refused = batch.submit(request_for(tokens_of(1, 20), 100), std::make_shared<RecordingSink>());
  EXPECT_ERROR(refused, kExhausted, "20 prompt tokens and 100 new ones in 1 choices need");
  EXPECT_ERROR(refused, kExhausted, "ask for at most 45 new tokens");
  EXPECT_FALSE(refused.error().retryable);
  EXPECT_ERROR(batch.submit(request_for(tokens_of(1, 100), 1), std::make_shared<RecordingSink>()), kExhausted,
               "shorten the prompt");
  ServiceRequest choices = request_for(tokens_of(1, 20), 45);
  choices.choices = 2;
  EXPECT_ERROR(batch.submit(choices, std::make_shared<RecordingSink>()), kExhausted, "in 2 choices");
  const auto fits = submit(batch, request_for(tokens_of(1, 20), 45));
  run_all(batch);
  EXPECT_EQ(fits->end->generated_tokens, 45);
}

TEST_F(MemoryTest, kept_prefixes_go_before_any_running_row) {
  ASSERT_OK_AND_ASSIGN(const auto engine, open(bytes(256)));
  LoopOptions options;
  options.prefix.max_bytes = bytes(256);
  Batch batch(*engine, *clock_, options);
  for (uint64_t i = 0; i < 3; ++i) submit(batch, request_for(tokens_of(i, 60), 4));
  run_all(batch);
  EXPECT_GT(batch.stats().prefix_entries, 1);
  const ServiceRequest large = request_for(tokens_of(9, 200), 50);
  const auto sink = submit(batch, large);
  run_all(batch);
  expect_same(*sink, *run_cold(*roomy_, large));
  EXPECT_EQ(batch.stats().moved_out, 0U);
  EXPECT_GT(batch.stats().prefix_evictions, 0U);
}

TEST_F(MemoryTest, choices_that_find_no_room_begin_outside) {
  // Slabs hold 256 tokens and are not shared: two of three choices have to wait.
  ASSERT_OK_AND_ASSIGN(const auto free, open(0, "slab"));
  ASSERT_OK_AND_ASSIGN(const auto engine, open(free->kv().projected_bytes(1), "slab"));
  Batch batch(*engine, *clock_, {});
  ServiceRequest request = request_for(tokens_of(1, 30), 20);
  request.choices = 3;
  request.generate.sampling.temperature = 1;
  const auto sink = submit(batch, request);
  MoveLog log;
  size_t outside_bytes = 0;
  while (!batch.idle()) {
    batch.step();
    log.look(batch);
    outside_bytes = std::max(outside_bytes, batch.stats().outside_bytes);
  }
  EXPECT_EQ(log.moves, 2);
  EXPECT_GT(outside_bytes, 0U);
  expect_same(*sink, *run_cold(*roomy_, request));
  EXPECT_EQ(sink->end->prompt_tokens, 30);
  EXPECT_EQ(batch.stats().outside_bytes, 0U);
}

TEST_F(MemoryTest, a_row_outside_can_be_cancelled) {
  ASSERT_OK_AND_ASSIGN(const auto engine, open(bytes(160)));
  Batch batch(*engine, *clock_, {.outside_bytes = bytes(5 * 96)});
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  for (uint64_t i = 0; i < 5; ++i) sinks.push_back(submit(batch, request_for(tokens_of(i, 6), 76)));
  while (batch.stats().outside == 0) batch.step();
  Ticket outside{};
  for (const RowInfo& row : batch.rows()) {
    if (row.state == "outside") outside = row.ticket;
  }
  batch.cancel(outside);
  batch.step();
  EXPECT_EQ(sinks[static_cast<size_t>(outside) - 1]->choices[0].reason, FinishReason::kCancelled);
  run_all(batch);
  EXPECT_EQ(batch.stats().requests_ended, 4U);
  EXPECT_EQ(batch.stats().outside_bytes, 0U);
  EXPECT_EQ(engine->kv().live_bytes(), 0U);
}

// Every allocation of a short run fails once: whatever that hits, requests end, and the books balance.
TEST_F(MemoryTest, survives_the_failure_of_any_allocation) {
  const ServiceRequest first = request_for(tokens_of(1, 40), 20);
  ServiceRequest second = request_for(tokens_of(2, 20), 30);
  second.choices = 2;
  const auto expected_first = run_cold(*roomy_, first);
  const auto expected_second = run_cold(*roomy_, second);
  for (size_t failing = 0; failing < 12; ++failing) {
    ASSERT_OK_AND_ASSIGN(const auto engine, open(0, failing % 2 == 0 ? "slab" : "paged"));
    Batch batch(*engine, *clock_, {});
    engine->kv().fail_allocations_after(failing);
    const auto a = submit(batch, first);
    const auto b = submit(batch, second);
    for (int i = 0; i < 8; ++i) batch.step();
    engine->kv().fail_allocations_after();
    run_all(batch);
    ASSERT_TRUE(a->over() && b->over());
    if (a->end) expect_same(*a, *expected_first);
    if (b->end) expect_same(*b, *expected_second);
    EXPECT_EQ(engine->kv().live_bytes(), 0U);
    const auto again = submit(batch, first);
    run_all(batch);
    expect_same(*again, *expected_first);
  }
}

// Case B58: bytes stay the same while rows come and go.
TEST_F(MemoryTest, B58_ten_thousand_steps_take_no_more_memory) {
  const auto files = make_memory_files();
  ASSERT_OK(test::write_synthetic(*files));
  EngineOptions small{.model_path = "/model.gguf", .threads = 1, .context_tokens = 64};
  small.kv.page = 16;
  small.kv_budget_bytes = size_t{4} << 20;
  ASSERT_OK_AND_ASSIGN(const auto engine, Engine::open(*files, small));
  LoopOptions options{.max_rows = 4};
  options.prefix.max_bytes = engine->kv().projected_bytes(64);
  Batch batch(*engine, *clock_, options);
  size_t early = 0;
  uint64_t next = 0;
  for (int step = 0; step < 10'000; ++step) {
    if (batch.waiting() == 0) {
      ServiceRequest request =
          request_for(tokens_of(next, 1 + next % 7, 50), 1 + static_cast<int64_t>(next % 9));
      request.generate.hash_logits = false;
      request.client = std::to_string(next++ % 100);
      submit(batch, request);
    }
    batch.step();
    if (step < 1000) early = std::max(early, engine->kv().allocated_bytes());
    if (step >= 1000 && step % 100 == 0) {
      ASSERT_LE(engine->kv().allocated_bytes(), early);
    }
  }
  batch.cancel_all();
  run_all(batch);
  EXPECT_LE(engine->kv().live_bytes(), options.prefix.max_bytes);
}

}  // namespace
}  // namespace kvern::engine
