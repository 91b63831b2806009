#include "server/protocol/generation_run.h"

#include <latch>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "server/protocol/support/protocol_world.h"
#include "server/protocol/thread_executor.h"
#include "support/result_matchers.h"

namespace kvern::server {
namespace {

/// Writes down what it is told.
class WritingHandler : public GenerationHandler {
 public:
  explicit WritingHandler(std::string& out) : out_(out) {}
  ~WritingHandler() override { out_ += "gone"; }
  void on_start(GenerationRun&) override { out_ += "start "; }
  void on_prompt(size_t part, const engine::PromptProgress&) override {
    out_ += "prompt" + std::to_string(part) + " ";
  }
  void on_token(size_t part, engine::TokenEvent event) override {
    if (event.text == "throw") throw std::runtime_error("handler");
    out_ += std::to_string(part) + ":" + event.text + " ";
  }
  void on_choice_end(size_t part, engine::ChoiceEnd) override { out_ += "end" + std::to_string(part) + " "; }
  void on_end(const std::vector<engine::RequestEnd>& ends) override {
    out_ += "all" + std::to_string(ends.size()) + " ";
  }
  void on_error(const Error& error) override { out_ += "error:" + error.message + " "; }

 private:
  std::string& out_;
};

engine::TokenEvent token(std::string text) { return {.text = std::move(text)}; }

class GenerationRunTest : public testing::Test {
 protected:
  Result<std::shared_ptr<GenerationRun>> start(size_t parts) {
    exchange_ = world_.exchange("/x", "");
    return GenerationRun::start(world_.context, *exchange_, std::vector<engine::ServiceRequest>(parts),
                                std::make_unique<WritingHandler>(told_));
  }
  test::ProtocolWorld world_;
  std::shared_ptr<LocalExchange> exchange_;
  std::string told_;
};

TEST_F(GenerationRunTest, events_come_in_order_after_the_start) {
  // The service is faster than submit() returns: nothing may be told before all parts are accepted.
  world_.service.play([](const engine::ServiceRequest&, engine::GenerationSink& sink) {
    sink.on_prompt({});
    sink.on_token(token("a"));
    sink.on_choice_end({});
    sink.on_end({});
  });
  ASSERT_OK(start(2));
  EXPECT_EQ(told_, "start prompt0 0:a end0 prompt1 1:a end1 all2 gone");
}

TEST_F(GenerationRunTest, a_refused_part_cancels_those_before_it_and_nobody_is_told) {
  int count = 0;
  world_.service.play([&](const engine::ServiceRequest&, engine::GenerationSink& sink) {
    sink.on_token(token("a"));
    if (++count == 2) world_.service.refuse(Error{.code = ErrorCode::kExhausted, .message = "full"});
  });
  EXPECT_ERROR(start(3), kExhausted, "full");
  EXPECT_EQ(told_, "gone");
  EXPECT_EQ(world_.service.cancelled().size(), 2U);
  world_.service.last_sink()->on_token(token("late"));
  world_.service.last_sink()->on_end({});
  EXPECT_EQ(told_, "gone");
}

TEST_F(GenerationRunTest, a_failed_part_ends_all) {
  world_.service.play(nullptr);
  ASSERT_OK(start(2));
  world_.service.last_sink()->on_token(token("a"));
  world_.service.last_sink()->on_error({.message = "broken"});
  EXPECT_EQ(told_, "start 1:a error:broken gone");
  EXPECT_EQ(world_.service.cancelled().size(), 2U);
}

TEST_F(GenerationRunTest, what_a_handler_throws_ends_its_request_alone) {
  world_.service.play(nullptr);
  ASSERT_OK(start(1));
  const auto sink = world_.service.last_sink();
  sink->on_token(token("a"));
  sink->on_token(token("throw"));
  EXPECT_EQ(told_, "start 0:a gone");
  EXPECT_EQ(world_.service.cancelled().size(), 1U);
  sink->on_token(token("b"));
  sink->on_end({});
  EXPECT_EQ(told_, "start 0:a gone");
}

TEST_F(GenerationRunTest, a_client_that_goes_cancels_every_part) {
  world_.service.play(nullptr);
  ASSERT_OK(start(3));
  EXPECT_TRUE(world_.service.cancelled().empty());
  exchange_->close();
  EXPECT_EQ(world_.service.cancelled().size(), 3U);
}

/// Counts, and checks that nobody calls it twice at a time.
class CountingHandler : public GenerationHandler {
 public:
  CountingHandler(std::latch& done, size_t& tokens) : done_(done), tokens_(tokens) {}
  void on_token(size_t, engine::TokenEvent event) override {
    EXPECT_FALSE(busy_.exchange(true));
    EXPECT_EQ(event.token, static_cast<engine::TokenId>(tokens_++));
    busy_ = false;
  }
  void on_choice_end(size_t, engine::ChoiceEnd) override {}
  void on_end(const std::vector<engine::RequestEnd>&) override { done_.count_down(); }
  void on_error(const Error&) override { ADD_FAILURE(); }

 private:
  std::latch& done_;
  size_t& tokens_;
  std::atomic<bool> busy_ = false;
};

TEST(GenerationRunThreads, many_runs_share_threads_and_keep_their_order) {
  constexpr size_t kRuns = 16;
  constexpr int kTokens = 500;
  test::ProtocolWorld world;
  ThreadExecutor executor(3, null_log());
  ProtocolContext context{.service = world.service,
                          .engine = world.context.engine,
                          .clock = world.clock,
                          .log = null_log(),
                          .executor = executor,
                          .ids = world.ids,
                          .chat = world.context.chat};
  world.service.play(nullptr);
  std::latch done(kRuns);
  std::vector<size_t> counts(kRuns);
  std::vector<std::jthread> loops;
  for (size_t run = 0; run < kRuns; ++run) {
    const auto exchange = std::make_shared<LocalExchange>(HttpRequest{}, [](HttpResponse) {});
    ASSERT_OK(GenerationRun::start(context, *exchange, std::vector<engine::ServiceRequest>(1),
                                   std::make_unique<CountingHandler>(done, counts[run])));
    loops.emplace_back([sink = world.service.last_sink()] {
      for (int i = 0; i < kTokens; ++i) sink->on_token({.token = i});
      sink->on_end({});
    });
  }
  done.wait();
  for (const size_t count : counts) EXPECT_EQ(count, static_cast<size_t>(kTokens));
}

}  // namespace
}  // namespace kvern::server
