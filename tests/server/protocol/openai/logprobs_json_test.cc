#include "server/protocol/openai/logprobs_json.h"

#include <limits>

#include <gtest/gtest.h>

#include "server/protocol/support/protocol_world.h"

namespace kvern::server::openai {
namespace {

const text::Tokenizer& tokenizer() { return *test::bundled_engine().tokenizer(); }

/// A token that is the first byte of a character, and no more.
engine::TokenId broken_token() { return tokenizer().encode("\U0001F600", {.add_special = false}).front(); }

TEST(LogprobsJson, chat_gives_bytes_of_parts_of_characters) {
  const json::object object = chat_logprob({.token = broken_token(), .logprob = -1}, tokenizer());
  EXPECT_NE(object.at("token").as_string().find("\uFFFD"), std::string::npos);
  EXPECT_EQ(object.at("bytes").as_array().front(), json::value(0xF0));
  EXPECT_TRUE(object.at("top_logprobs").as_array().empty());
}

TEST(LogprobsJson, what_is_impossible_is_still_a_number) {
  const float never = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(chat_logprob({.token = 9, .logprob = never}, tokenizer()).at("logprob"), json::value(-9999.0));
}

TEST(LogprobsJson, completions_name_parts_of_characters_by_their_bytes) {
  CompletionLogprobs logprobs(tokenizer(), 3);
  EXPECT_TRUE(logprobs.take().is_null());
  logprobs.add_first(9);
  logprobs.add({.token = broken_token(), .logprob = -1, .top = {{.token = 9, .logprob = -0.5F}}});
  const json::value taken = logprobs.take();
  EXPECT_TRUE(taken.at("tokens").at(1).as_string().starts_with("bytes:\\xf0"))
      << taken.at("tokens").at(1).as_string();
  EXPECT_EQ(taken.at("top_logprobs").at(1).as_object().size(), 2U) << "the sampled one too";
  EXPECT_EQ(taken.at("text_offset").at(0), json::value(3));
  EXPECT_TRUE(logprobs.take().is_null());
}

TEST(LogprobsJson, offsets_do_not_count_special_tokens) {
  CompletionLogprobs logprobs(tokenizer(), 0);
  logprobs.add_first(0);  // <|endoftext|>
  for (const engine::TokenId token : tokenizer().encode("\u00e9\U0001F600a", {.add_special = false}))
    logprobs.add({.token = token});
  const json::value taken = logprobs.take();
  EXPECT_EQ(taken.at("text_offset").at(1), json::value(0));
  EXPECT_EQ(taken.at("text_offset").as_array().back(), json::value(2)) << "of \"a\", in characters";
  EXPECT_EQ(count_characters("\u00e9\U0001F600a"), 3);
}

}  // namespace
}  // namespace kvern::server::openai
