#include "server/protocol/openai/completion_request.h"

#include <gtest/gtest.h>

#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server::openai {
namespace {

class CompletionRequestTest : public testing::Test {
 protected:
  Result<CompletionRequest> read(std::string_view fields) {
    KVERN_TRY(const json::value value, parse_json("{" + std::string(fields) + "}", "body"));
    return read_completion_request(value, world_.context);
  }
  test::ProtocolWorld world_;
};

TEST_F(CompletionRequestTest, prompts_come_in_four_forms) {
  const auto prompts = [&](std::string_view prompt) {
    std::vector<std::vector<int32_t>> all;
    const auto request = read("\"prompt\": " + std::string(prompt));
    EXPECT_OK(request);
    if (request)
      for (const engine::ServiceRequest& part : request->parts) all.push_back(part.generate.prompt);
    return all;
  };
  const auto* tokenizer = test::bundled_engine().tokenizer();
  const std::vector<int32_t> hello = tokenizer->encode("Hello", {.parse_special = true});
  const std::vector<int32_t> bye = tokenizer->encode("Bye", {.parse_special = true});
  using Prompts = std::vector<std::vector<int32_t>>;
  EXPECT_EQ(prompts(R"("Hello")"), (Prompts{hello}));
  EXPECT_EQ(prompts(R"(["Hello", "Bye"])"), (Prompts{hello, bye}));
  EXPECT_EQ(prompts("[5, 6, 7]"), (Prompts{{5, 6, 7}}));
  EXPECT_EQ(prompts("[[5], [6, 4095]]"), (Prompts{{5}, {6, 4095}}));
  EXPECT_EQ(prompts(R"([[5], "Bye"])"), (Prompts{{5}, bye}));
  EXPECT_EQ(prompts(R"("<|im_end|>")").at(0).back(), 2) << "who completes text writes the whole prompt";
}

TEST_F(CompletionRequestTest, a_prompt_that_is_wrong_is_named) {
  EXPECT_ERROR(read(""), kInvalidArgument, "prompt: expected a string or an array, but it is missing");
  EXPECT_ERROR(read("\"prompt\": 5"), kInvalidArgument, "prompt: expected a string or an array of token ids");
  EXPECT_ERROR(read("\"prompt\": []"), kInvalidArgument, "prompt: expected at least one prompt");
  EXPECT_ERROR(read("\"prompt\": [[]]"), kInvalidArgument, "prompt[0]: expected at least one token");
  EXPECT_ERROR(read("\"prompt\": [5, \"a\"]"), kInvalidArgument,
               "prompt[1]: expected an integer from 0 to 4095");
  EXPECT_ERROR(read("\"prompt\": [4096]"), kInvalidArgument, "prompt[0]: expected an integer from 0 to 4095");
  EXPECT_ERROR(read("\"prompt\": [-1]"), kInvalidArgument, "prompt[0]");
  EXPECT_ERROR(read("\"prompt\": [[1], [4096]]"), kInvalidArgument, "prompt[1][0]");
  EXPECT_ERROR(read("\"prompt\": [{}]"), kInvalidArgument,
               "prompt[0]: expected a string or an array of token ids");
  EXPECT_ERROR(read("\"prompt\": \"\""), kInvalidArgument, "prompt: it is empty");
}

TEST_F(CompletionRequestTest, fields_reach_the_engine) {
  ASSERT_OK_AND_ASSIGN(const CompletionRequest plain, read("\"prompt\": \"a\""));
  EXPECT_EQ(plain.parts[0].generate.max_new_tokens, 16);
  EXPECT_FALSE(plain.echo);
  ASSERT_OK_AND_ASSIGN(
      const CompletionRequest full,
      read(R"("prompt": ["Hello", "Hello"], "max_tokens": 0, "echo": true, "logprobs": 3, "n": 2,
                               "best_of": 5, "seed": 9, "suffix": "")"));
  EXPECT_EQ(full.n, 2);
  EXPECT_EQ(full.parts[0].choices, 5);
  EXPECT_EQ(full.parts[0].best, 2);
  EXPECT_EQ(full.parts[0].generate.max_new_tokens, 0);
  EXPECT_EQ(full.parts[0].generate.sampling.top_logprobs, 3U);
  EXPECT_EQ(full.parts[0].prompt_logprobs, 3U);
  EXPECT_EQ(full.prompts, (std::vector<std::string>{"Hello", "Hello"}));
  EXPECT_EQ(full.parts[0].generate.sampling.seed, 9U);
  EXPECT_NE(full.parts[1].generate.sampling.seed, 9U) << "equal prompts are not to have equal answers";
}

TEST_F(CompletionRequestTest, contradictions_are_named) {
  EXPECT_ERROR(read(R"("prompt": "a", "n": 3, "best_of": 2)"), kInvalidArgument,
               "best_of: must be at least n, which is 3");
  EXPECT_ERROR(read(R"("prompt": "a", "best_of": 2, "stream": true)"), kInvalidArgument, "best_of");
  EXPECT_ERROR(read(R"("prompt": "a", "echo": true, "logprobs": 1, "stream": true)"), kUnsupported,
               "logprobs");
  EXPECT_ERROR(read(R"("prompt": "a", "suffix": "b")"), kUnsupported,
               "suffix is not supported: the model cannot fill in");
  EXPECT_ERROR(read(R"("prompt": "a", "logprobs": true)"), kInvalidArgument,
               "logprobs: expected an integer from 0 to 20");
  EXPECT_ERROR(read(R"("prompt": ["a", "b"], "n": 100)"), kInvalidArgument,
               "prompt: 2 prompts with 100 choices each");
  EXPECT_ERROR(read(R"("prompt": "a", "messages": [])"), kUnsupported, "messages is no parameter");
  EXPECT_OK(read(R"("prompt": "a", "n": 2, "best_of": 2, "stream": true)"));
}

TEST_F(CompletionRequestTest, a_prompt_that_is_too_long_names_both_numbers) {
  std::string ids = "1";
  for (int i = 1; i < 1025; ++i) ids += ",1";
  EXPECT_ERROR(read("\"prompt\": [" + ids + "]"), kExhausted,
               "maximum context length is 1024 tokens, and the prompt has 1025");
  EXPECT_ERROR(read("\"prompt\": \"" + std::string(100'000, '+') + "\""), kExhausted,
               "maximum context length is 1024 tokens, and the prompt has more than 2048");
}

}  // namespace
}  // namespace kvern::server::openai
