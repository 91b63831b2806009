#include "server/protocol/reply_handler.h"

#include <gtest/gtest.h>

#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server {
namespace {

using test::say;

/// Writes down what it is told.
class Listener : public ReplyHandler {
 public:
  struct Heard {
    std::string text;
    int begun = 0;
    int pieces = 0;
    std::optional<ReplyEnd> end;
    std::optional<Error> error;
  };
  Listener(const ProtocolContext& context, const ChatPlan& plan, std::optional<int64_t> limit, Heard& heard)
      : ReplyHandler(context, plan, limit), heard_(heard) {}

 private:
  void begin() override { ++heard_.begun; }
  void piece(ReplyPiece piece) override {
    EXPECT_TRUE(!piece.deltas.empty() || piece.logprobs);
    ++heard_.pieces;
    for (const engine::ReplyDelta& delta : piece.deltas) heard_.text += delta.text;
  }
  void end(ReplyEnd end) override { heard_.end = std::move(end); }
  void fail(const Error& error) override { heard_.error = error; }
  Heard& heard_;
};

class ReplyHandlerTest : public testing::Test {
 protected:
  using Reason = ReplyEnd::Reason;
  Listener::Heard run(test::ScriptedChoice script, std::optional<int64_t> limit = {}) {
    world_.service.play(say(*test::bundled_engine().tokenizer(), {std::move(script)}));
    return run_as_it_plays(limit);
  }
  Listener::Heard run_as_it_plays(std::optional<int64_t> limit = {}) {
    Listener::Heard heard;
    ChatPlan plan{.service = {}, .reply = reply_};
    plan.service.generate.prompt = {1, 2, 3};
    plan.service.generate.sampling.top_logprobs = logprobs_;
    exchange_ = world_.exchange("/", "");
    std::vector<engine::ServiceRequest> parts{plan.service};
    EXPECT_OK(GenerationRun::start(world_.context, *exchange_, std::move(parts),
                                   std::make_unique<Listener>(world_.context, plan, limit, heard)));
    return heard;
  }
  test::ProtocolWorld world_;
  engine::ReplyFormat reply_;
  std::optional<uint32_t> logprobs_;
  std::shared_ptr<LocalExchange> exchange_;
};

const std::string kCall = "<tool_call>\n{\"name\": \"get\", \"arguments\": {}}\n</tool_call>";

TEST_F(ReplyHandlerTest, tells_why_a_reply_ended) {
  EXPECT_EQ(run({.text = "Hello."}).end->reason, Reason::kDone);
  EXPECT_EQ(run({.text = "Hello.", .stop_string = "END"}).end->reason, Reason::kStopString);
  EXPECT_EQ(run({.text = "Hello.", .stop_string = "END"}).end->stop_string, "END");
  EXPECT_EQ(run({.text = "Hello", .reason = engine::FinishReason::kLength}, 1).end->reason,
            Reason::kTokenLimit);
  EXPECT_EQ(run({.text = "Hello", .reason = engine::FinishReason::kLength}, 100).end->reason,
            Reason::kContextFull);
  EXPECT_EQ(run({.text = "Hello", .reason = engine::FinishReason::kLength}).end->reason, Reason::kContextFull)
      << "nobody named a limit";
  reply_.calls = engine::ToolCallStyle::kTagged;
  EXPECT_EQ(run({.text = kCall}).end->reason, Reason::kCalls);
  EXPECT_EQ(run({.text = kCall, .stop_string = "x"}).end->reason, Reason::kStopString);
}

TEST_F(ReplyHandlerTest, gives_all_text_once_and_the_usage) {
  const Listener::Heard heard = run({.text = "Hello there.", .held_back = 3});
  EXPECT_EQ(heard.text, "Hello there.");
  EXPECT_EQ(heard.begun, 1);
  EXPECT_EQ(heard.end->usage.prompt_tokens, 3);
  EXPECT_EQ(heard.end->usage.cached_tokens, 1);
  EXPECT_FALSE(heard.error);
}

TEST_F(ReplyHandlerTest, counts_reasoning) {
  world_.context.chat = test::thinking_format();
  reply_.reasoning = true;
  reply_.begins_in_reasoning = true;
  const Listener::Heard heard = run({.text = "Hm.</think>Yes."});
  EXPECT_GT(heard.end->reasoning_tokens, 0);
  EXPECT_LT(heard.end->reasoning_tokens, heard.end->usage.generated_tokens);
}

TEST_F(ReplyHandlerTest, the_end_token_has_no_log_probability) {
  logprobs_ = 1;
  EXPECT_EQ(
      run({.text = "Hello"}).pieces,
      static_cast<int>(test::bundled_engine().tokenizer()->encode("Hello", {.add_special = false}).size()));
}

TEST_F(ReplyHandlerTest, one_call_that_is_allowed_ends_the_generation) {
  reply_.calls = engine::ToolCallStyle::kTagged;
  reply_.single_call = true;
  const Listener::Heard heard = run({.text = kCall + "\n" + kCall});
  EXPECT_EQ(heard.text, "get{}");
  EXPECT_EQ(heard.end->reason, Reason::kCalls);
  EXPECT_FALSE(world_.service.cancelled().empty());
}

TEST_F(ReplyHandlerTest, what_somebody_else_cancelled_is_an_error) {
  const Listener::Heard heard = run({.text = "Hel", .reason = engine::FinishReason::kCancelled});
  EXPECT_FALSE(heard.end);
  EXPECT_EQ(heard.error->code, ErrorCode::kCancelled);
}

TEST_F(ReplyHandlerTest, errors_are_passed_on) {
  world_.service.play([](const engine::ServiceRequest&, engine::GenerationSink& sink) {
    sink.on_error({.code = ErrorCode::kInternal, .message = "broken"});
  });
  const Listener::Heard heard = run_as_it_plays();
  EXPECT_FALSE(heard.end);
  EXPECT_EQ(heard.error->message, "broken");
}

}  // namespace
}  // namespace kvern::server
