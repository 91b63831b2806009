#include "server/protocol/prompt_length.h"

#include <gtest/gtest.h>

#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server {
namespace {

TEST(PromptLength, says_both_numbers_as_far_as_it_is_worth_counting) {
  const engine::Engine& engine = test::bundled_engine();
  ASSERT_EQ(engine.context_tokens(), 1024);
  EXPECT_EQ(most_counted_tokens(engine), 2048U);
  EXPECT_OK(check_prompt_length(1024, "the prompt has", engine));
  EXPECT_ERROR(check_prompt_length(1025, "the prompt has", engine), kExhausted,
               "maximum context length is 1024 tokens, and the prompt has 1025.");
  EXPECT_ERROR(check_prompt_length(2048, "the messages have", engine), kExhausted, "the messages have 2048.");
  EXPECT_ERROR(check_prompt_length(2049, "the prompt has", engine), kExhausted,
               "the prompt has more than 2048.");
}

}  // namespace
}  // namespace kvern::server
