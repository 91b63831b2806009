#include "engine/loop/engine_loop.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "engine/support/engines.h"
#include "engine/support/fake_tier.h"
#include "engine/support/generation.h"
#include "engine/tiers/prefix_spaces.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using test::expect_same;
using test::RecordingSink;
using test::request_for;
using test::run_cold;
using test::tokens_of;

/// Lets another thread wait for the end.
class WaitingSink : public RecordingSink {
 public:
  void on_token(TokenEvent event) override {
    RecordingSink::on_token(std::move(event));
    signal([this] { ++tokens_; });
  }
  void on_end(const RequestEnd& value) override {
    RecordingSink::on_end(value);
    signal([this] { over_ = true; });
  }
  void on_error(const Error& value) override {
    RecordingSink::on_error(value);
    signal([this] { over_ = true; });
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_; });
  }
  void wait_for_token() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_ || tokens_ > 0; });
  }

 private:
  template <typename Change>
  void signal(const Change& change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  int tokens_ = 0;
};

class EngineLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    EngineOptions options{.context_tokens = 256, .chunk_tokens = 64};
    options.kv.page = 16;
    ASSERT_OK_AND_ASSIGN(engine_, test::open_bundled(options));
  }
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineLoopTest, runs_what_is_submitted) {
  const ServiceRequest request = request_for(tokens_of(1, 30), 10);
  const auto expected = run_cold(*engine_, request);
  EngineLoop loop(*engine_, *clock_, {});
  auto sink = std::make_shared<WaitingSink>();
  ASSERT_OK(loop.submit(request, sink));
  sink->wait();
  expect_same(*sink, *expected);
  EXPECT_ERROR(loop.submit(request_for({}), sink), kInvalidArgument, "prompt");
  loop.stop(StopMode::kDrain);
  EXPECT_TRUE(loop.wait_stopped());
  const ServiceStats stats = loop.stats();
  EXPECT_EQ(stats.requests_ended, 1U);
  EXPECT_TRUE(stats.healthy);
  EXPECT_TRUE(loop.rows().empty());
}

// A client that reads the counters behind its answer finds that answer in them.
TEST_F(EngineLoopTest, counters_tell_of_a_request_before_its_end_is_delivered) {
  struct AskingSink final : WaitingSink {
    void on_end(const RequestEnd& value) override {
      at_end = loop->stats();
      WaitingSink::on_end(value);
    }
    const EngineLoop* loop = nullptr;
    ServiceStats at_end;
  };
  EngineLoop loop(*engine_, *clock_, {});
  for (uint64_t i = 1; i <= 3; ++i) {
    auto sink = std::make_shared<AskingSink>();
    sink->loop = &loop;
    ASSERT_OK(loop.submit(request_for(tokens_of(1, 30), 10), sink));
    sink->wait();
    EXPECT_EQ(sink->at_end.requests_ended, i);
    EXPECT_EQ(sink->at_end.generated_tokens, 10 * i);
    EXPECT_EQ(sink->at_end.prompt_tokens, 30 * i);
    EXPECT_EQ(sink->at_end.running, 0);
  }
}

TEST_F(EngineLoopTest, cancels_what_runs_and_what_waits) {
  EngineLoop loop(*engine_, *clock_, {.max_rows = 1});
  auto running = std::make_shared<WaitingSink>();
  auto waiting = std::make_shared<WaitingSink>();
  ASSERT_OK_AND_ASSIGN(const Ticket first, loop.submit(request_for(tokens_of(1, 30), 200), running));
  ASSERT_OK_AND_ASSIGN(const Ticket second, loop.submit(request_for(tokens_of(2, 30), 200), waiting));
  running->wait_for_token();
  loop.cancel(second);
  waiting->wait();
  EXPECT_EQ(waiting->choices[0].reason, FinishReason::kCancelled);
  loop.cancel(first);
  running->wait();
  EXPECT_EQ(running->choices[0].reason, FinishReason::kCancelled);
}

TEST_F(EngineLoopTest, drains_before_it_stops) {
  EngineLoop loop(*engine_, *clock_, {.max_rows = 2});
  std::vector<std::shared_ptr<WaitingSink>> sinks;
  for (uint64_t i = 0; i < 5; ++i) {
    sinks.push_back(std::make_shared<WaitingSink>());
    ASSERT_OK(loop.submit(request_for(tokens_of(i, 20), 8), sinks.back()));
  }
  loop.stop(StopMode::kDrain);
  EXPECT_ERROR(loop.submit(request_for({1}), std::make_shared<WaitingSink>()), kCancelled, "being stopped");
  EXPECT_TRUE(loop.wait_stopped());
  for (const auto& sink : sinks) {
    ASSERT_TRUE(sink->end);
    EXPECT_EQ(sink->choices[0].reason, FinishReason::kLength);
  }
}

TEST_F(EngineLoopTest, a_second_order_to_stop_cancels_what_drains) {
  EngineLoop loop(*engine_, *clock_, {});
  auto sink = std::make_shared<WaitingSink>();
  ASSERT_OK(loop.submit(request_for(tokens_of(1, 20), 230), sink));
  sink->wait_for_token();
  loop.stop(StopMode::kDrain);
  EXPECT_FALSE(loop.wait_stopped(std::chrono::milliseconds(0)) && !sink->over());
  loop.stop(StopMode::kCancel);
  loop.stop(StopMode::kDrain);  // does not take it back
  EXPECT_TRUE(loop.wait_stopped());
  EXPECT_TRUE(sink->over());
}

TEST_F(EngineLoopTest, destroying_it_ends_everything) {
  std::vector<std::shared_ptr<WaitingSink>> sinks;
  {
    EngineLoop loop(*engine_, *clock_, {.max_rows = 1});
    for (uint64_t i = 0; i < 3; ++i) {
      sinks.push_back(std::make_shared<WaitingSink>());
      ASSERT_OK(loop.submit(request_for(tokens_of(i, 20), 200), sinks.back()));
    }
    sinks[0]->wait_for_token();
  }
  for (const auto& sink : sinks) EXPECT_TRUE(sink->over());
  EXPECT_EQ(engine_->kv().live_bytes(), 0U);
}

/// Says when it was offered something.
class AwaitedTier final : public test::FakeTier {
 public:
  bool offer(store::NewEntry entry) override {
    const bool taken = FakeTier::offer(std::move(entry));
    offers = true;
    offers.notify_all();
    return taken;
  }
  std::atomic<bool> offers = false;
};

TEST_F(EngineLoopTest, saves_what_is_kept_while_it_is_idle) {
  AwaitedTier tier;
  LoopOptions options;
  options.prefix.max_bytes = size_t{1} << 30;
  options.tiers.tiers = {{.tier = &tier}};
  options.tiers.settle = std::chrono::milliseconds(1);
  EngineLoop loop(*engine_, *clock_, options);
  auto sink = std::make_shared<WaitingSink>();
  ASSERT_OK(loop.submit(request_for(tokens_of(1, 60), 8), sink));
  tier.offers.wait(false);
  loop.stop(StopMode::kCancel);
  loop.wait_stopped();
  EXPECT_EQ(tier.stored().size(), 1U);
}

/// Has room for one prefix.
class SmallTier final : public test::FakeTier {
 public:
  bool offer(store::NewEntry entry) override {
    forget_all();
    return FakeTier::offer(std::move(entry));
  }
};

TEST_F(EngineLoopTest, calls_nothing_durable_that_is_gone_again) {
  SmallTier tier;
  LoopOptions options;
  options.prefix.max_bytes = size_t{1} << 30;
  options.tiers.tiers = {{.tier = &tier}};
  options.tiers.settle = std::chrono::hours(1);
  EngineLoop loop(*engine_, *clock_, options);
  for (const uint64_t seed : {1, 2, 3}) {
    auto sink = std::make_shared<WaitingSink>();
    ASSERT_OK(loop.submit(request_for(tokens_of(seed, 60), 8), sink));
    sink->wait();
    const auto report = loop.flush(std::chrono::steady_clock::now() + std::chrono::minutes(1));
    ASSERT_OK(report);
    EXPECT_EQ(report->saved, 1U);
    EXPECT_EQ(report->evicted, seed - 1);
    EXPECT_EQ(report->durable, seed == 1);
  }
  loop.stop(StopMode::kCancel);
  loop.wait_stopped();
}

TEST_F(EngineLoopTest, says_why_nothing_is_saved) {
  const auto now = std::chrono::steady_clock::now();
  EngineLoop memory(*engine_, *clock_, {});
  EXPECT_ERROR(memory.flush(now), kUnsupported, "memory alone");
  memory.stop(StopMode::kCancel);
  memory.wait_stopped();
  test::FakeTier tier;
  LoopOptions options;
  options.tiers.tiers = {{.tier = &tier, .saves = false}};
  EngineLoop reads(*engine_, *clock_, options);
  EXPECT_ERROR(reads.flush(now), kUnsupported, "only read");
}

// The file is written to in place: what is computed from then on is of nobody's weights.
TEST(EngineLoop, ends_saves_and_restores_nothing_once_the_weights_have_changed) {
  const auto files = make_memory_files();
  ASSERT_OK(test::write_synthetic(*files));
  EngineOptions engine_options{.model_path = "/model.gguf", .threads = 2};
  ASSERT_OK_AND_ASSIGN(const auto engine, Engine::open(*files, engine_options));
  const auto clock = make_system_clock();
  test::FakeTier tier;
  LoopOptions options;
  options.prefix.max_bytes = size_t{1} << 30;
  ASSERT_OK(set_identity(options.tiers, *engine));
  options.tiers.tiers = {{.tier = &tier}};
  options.tiers.settle = std::chrono::hours(1);
  std::atomic<bool> change{false};
  options.hooks.before_sampling = [&](Ticket, int32_t, std::span<float>) {
    if (!change) return;
    const auto file = *files->open("/model.gguf", OpenMode::kUpdate);
    const std::byte other{0x55};
    EXPECT_OK(file->write_at(*file->size() - 1, {&other, 1}));
  };
  EngineLoop loop(*engine, *clock, options);
  const auto run = [&](uint64_t seed) {
    auto sink = std::make_shared<WaitingSink>();
    EXPECT_OK(loop.submit(request_for(tokens_of(seed, 60), 8), sink));
    sink->wait();
    return sink;
  };
  const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::minutes(1); };
  run(1);
  ASSERT_OK(loop.flush(soon()));
  EXPECT_EQ(tier.stored().size(), 1U);  // the control
  run(2);
  EXPECT_OK(loop.health());

  change = true;
  const auto open = run(3);
  ASSERT_TRUE(open->error);
  EXPECT_EQ(open->error->where, kWeights);
  EXPECT_ERROR(loop.health(), kCorrupt, "model.gguf: the file changed while in use");
  EXPECT_FALSE(loop.stats().healthy);
  EXPECT_ERROR(loop.submit(request_for({1}), std::make_shared<WaitingSink>()), kCorrupt, "model.gguf");
  EXPECT_ERROR(loop.flush(soon()), kCorrupt, "model.gguf");
  loop.stop(StopMode::kCancel);
  loop.wait_stopped();
  EXPECT_EQ(tier.stored().size(), 1U);
}

TEST_F(EngineLoopTest, flushes_when_it_is_told_to) {
  test::FakeTier tier;
  LoopOptions options;
  options.prefix.max_bytes = size_t{1} << 30;
  options.tiers.tiers = {{.tier = &tier}};
  options.tiers.settle = std::chrono::hours(1);
  EngineLoop loop(*engine_, *clock_, options);
  for (uint64_t i = 0; i < 3; ++i) {
    auto sink = std::make_shared<WaitingSink>();
    ASSERT_OK(loop.submit(request_for(tokens_of(i, 60), 8), sink));
    sink->wait();
  }
  const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::minutes(1); };
  ASSERT_OK_AND_ASSIGN(const FlushReport report, loop.flush(soon()));
  EXPECT_TRUE(report.durable);
  EXPECT_EQ(report.saved, 3U);
  ASSERT_OK_AND_ASSIGN(const FlushReport again, loop.flush(soon()));
  EXPECT_TRUE(again.durable);
  EXPECT_EQ(again.saved, 0U);
  ASSERT_EQ(loop.tiers().size(), 1U);
  EXPECT_EQ(loop.tiers()[0].stats.saved, 3U);
  loop.stop(StopMode::kDrain);
  loop.wait_stopped();
  EXPECT_ERROR(loop.flush(soon()), kCancelled, "stopped");
}

TEST_F(EngineLoopTest, has_nothing_to_flush_to_without_tiers) {
  EngineLoop loop(*engine_, *clock_, {});
  EXPECT_ERROR(loop.flush(std::chrono::steady_clock::now()), kUnsupported, "memory alone");
  EXPECT_TRUE(loop.tiers().empty());
}

TEST_F(EngineLoopTest, refuses_more_than_the_queue_holds) {
  std::atomic<bool> hold = true;
  LoopOptions options{.max_rows = 1, .max_queue = 2};
  options.hooks.before_step = [&] { hold.wait(true); };
  EngineLoop loop(*engine_, *clock_, options);
  std::vector<std::shared_ptr<WaitingSink>> sinks;
  int refused = 0;
  for (uint64_t i = 0; i < 6; ++i) {
    auto sink = std::make_shared<WaitingSink>();
    const auto ticket = loop.submit(request_for(tokens_of(i, 20), 4), sink);
    if (ticket) {
      sinks.push_back(sink);
    } else {
      EXPECT_EQ(ticket.error().code, ErrorCode::kExhausted);
      EXPECT_TRUE(ticket.error().retryable);
      ++refused;
    }
  }
  EXPECT_EQ(sinks.size(), 2U);
  EXPECT_EQ(refused, 4);
  hold = false;
  hold.notify_all();
  for (const auto& sink : sinks) sink->wait();
}

// Case B62: the thread is dead, and everybody knows.
TEST_F(EngineLoopTest, B62_a_fault_of_the_loop_ends_all_requests_and_shows) {
  int left = 5;
  LoopOptions options{.max_rows = 1};
  options.hooks.before_step = [&] {
    if (--left == 0) throw std::runtime_error("the disk has eaten it");
  };
  EngineLoop loop(*engine_, *clock_, options);
  auto running = std::make_shared<WaitingSink>();
  auto waiting = std::make_shared<WaitingSink>();
  ASSERT_OK(loop.submit(request_for(tokens_of(1, 20), 200), running));
  const auto second = loop.submit(request_for(tokens_of(2, 20), 200), waiting);
  running->wait();
  ASSERT_TRUE(running->error);
  EXPECT_EQ(running->error->code, ErrorCode::kInternal);
  EXPECT_THAT(running->error->message, testing::HasSubstr("the disk has eaten it"));
  if (second) {
    waiting->wait();
    EXPECT_TRUE(waiting->error);
  }
  EXPECT_TRUE(loop.wait_stopped());
  EXPECT_FALSE(loop.stats().healthy);
  EXPECT_ERROR(loop.submit(request_for({1}), std::make_shared<WaitingSink>()), kInternal, "loop has failed");
}

TEST_F(EngineLoopTest, receivers_may_call_it) {
  struct Caller final : GenerationSink {
    void on_token(TokenEvent) override {
      static_cast<void>(loop->stats());
      static_cast<void>(loop->rows());
      loop->cancel(Ticket{1});
    }
    void on_choice_end(ChoiceEnd end) override { reason = end.reason; }
    void on_end(const RequestEnd&) override {
      over = true;
      over.notify_all();
    }
    void on_error(const Error&) override {}
    EngineLoop* loop = nullptr;
    FinishReason reason = FinishReason::kStop;
    std::atomic<bool> over = false;
  };
  EngineLoop loop(*engine_, *clock_, {});
  auto sink = std::make_shared<Caller>();
  sink->loop = &loop;
  ASSERT_OK(loop.submit(request_for(tokens_of(1, 20), 200), sink));
  sink->over.wait(false);
  EXPECT_EQ(sink->reason, FinishReason::kCancelled);
}

// For ThreadSanitizer: threads submit, cancel and look at random, and what is not cancelled is exact.
TEST_F(EngineLoopTest, threads_submit_and_cancel_at_random) {
  constexpr int kThreads = 4, kRequests = 12;
  std::vector<ServiceRequest> requests;
  std::vector<std::shared_ptr<RecordingSink>> expected;
  for (uint64_t i = 0; i < 5; ++i) {
    requests.push_back(request_for(tokens_of(i % 2, 20 + 7 * i), 3 + static_cast<int64_t>(i)));
    requests.back().choices = i == 3 ? 2 : 1;
    expected.push_back(run_cold(*engine_, requests.back()));
  }
  LoopOptions options{.max_rows = 6};
  options.prefix.max_bytes = size_t{1} << 20;
  EngineLoop loop(*engine_, *clock_, options);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      for (int i = 0; i < kRequests; ++i) {
        const size_t which = random() % requests.size();
        ServiceRequest request = requests[which];
        request.client = std::to_string(t);
        auto sink = std::make_shared<WaitingSink>();
        const auto ticket = loop.submit(std::move(request), sink);
        ASSERT_OK(ticket);
        const bool cancel = random() % 3 == 0;
        if (cancel) loop.cancel(*ticket);
        static_cast<void>(loop.stats());
        static_cast<void>(loop.rows());
        sink->wait();
        if (!cancel) expect_same(*sink, *expected[which]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  loop.stop(StopMode::kDrain);
  loop.wait_stopped();
  const ServiceStats stats = loop.stats();
  EXPECT_EQ(stats.requests_ended + stats.requests_cancelled, uint64_t{kThreads * kRequests});
  EXPECT_EQ(stats.requests_failed, 0U);
}

}  // namespace
}  // namespace kvern::engine
