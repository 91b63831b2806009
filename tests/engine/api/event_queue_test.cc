#include "engine/api/event_queue.h"

#include <thread>

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

TEST(EventQueue, gives_all_events_in_order_and_then_nothing) {
  EventQueue queue;
  EXPECT_FALSE(queue.ready());
  queue.on_prompt({.total = 10, .cached = 4, .computed = 6});
  queue.on_token(
      {.choice = 1, .token = 7, .text = "a", .logprobs = TokenLogprobs{7, -0.5F, {{7, -0.5F}, {8, -1}}}});
  queue.on_choice_end({.choice = 1, .reason = FinishReason::kStop, .text = "b", .stop_string = "c"});
  EXPECT_FALSE(queue.over());
  queue.on_end({.prompt_tokens = 10, .cached_tokens = 4, .generated_tokens = 1, .decode_ms = 2});
  EXPECT_TRUE(queue.ready());
  EXPECT_TRUE(queue.over());

  ASSERT_OK_AND_ASSIGN(const std::optional<Event> prompt, queue.next());
  EXPECT_EQ(prompt->kind, EventKind::kPrompt);
  EXPECT_EQ(prompt->usage.cached_tokens, 4);
  EXPECT_EQ(prompt->usage.computed_tokens, 6);
  ASSERT_OK_AND_ASSIGN(const std::optional<Event> token, queue.next());
  EXPECT_EQ(token->kind, EventKind::kToken);
  EXPECT_EQ(token->choice, 1);
  EXPECT_EQ(token->token, 7);
  EXPECT_EQ(token->text, "a");
  EXPECT_EQ(token->logprob, -0.5F);
  ASSERT_EQ(token->top.size(), 2U);
  EXPECT_EQ(token->top[1].token, 8);
  ASSERT_OK_AND_ASSIGN(const std::optional<Event> stopped, queue.next());
  EXPECT_EQ(stopped->kind, EventKind::kChoiceEnd);
  EXPECT_EQ(stopped->finish_reason, "stop");
  EXPECT_EQ(stopped->stop_string, "c");
  ASSERT_OK_AND_ASSIGN(const std::optional<Event> end, queue.next());
  EXPECT_EQ(end->kind, EventKind::kEnd);
  EXPECT_EQ(end->usage.computed_tokens, 6);
  EXPECT_EQ(end->usage.decode_ms, 2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::optional<Event> nothing, queue.next());
    EXPECT_FALSE(nothing.has_value());
    EXPECT_TRUE(queue.ready());
  }
}

TEST(EventQueue, gives_an_error_behind_what_came_before_it) {
  EventQueue queue;
  queue.on_token({.choice = 0, .token = 3});
  queue.on_error({.code = ErrorCode::kExhausted, .message = "too late"});
  ASSERT_OK_AND_ASSIGN(const std::optional<Event> token, queue.next());
  EXPECT_EQ(token->token, 3);
  EXPECT_ERROR(queue.next(), kExhausted, "too late");
  EXPECT_ERROR(queue.next(), kExhausted, "too late");
}

TEST(EventQueue, wakes_a_reader_that_waits) {
  EventQueue queue;
  std::vector<int32_t> read;
  std::thread reader([&] {
    for (;;) {
      const auto event = queue.next();
      if (!event || !*event || (*event)->kind == EventKind::kEnd) return;
      read.push_back((*event)->token);
    }
  });
  for (int32_t i = 0; i < 100; ++i) queue.on_token({.choice = 0, .token = i});
  queue.on_end({});
  reader.join();
  ASSERT_EQ(read.size(), 100U);
  EXPECT_EQ(read.back(), 99);
}

}  // namespace
}  // namespace kvern::engine
