#include "server/protocol/openai/completion_answer.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/protocol/openai/routes.h"
#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server::openai {
namespace {

using test::at;
using test::ProtocolWorld;
using test::say;
using test::ScriptedChoice;

class CompletionAnswerTest : public testing::Test {
 protected:
  static const text::Tokenizer& tokenizer() { return *test::bundled_engine().tokenizer(); }
  void complete(std::string_view fields) {
    exchange_ = world_.exchange("/v1/completions", "{" + std::string(fields) + "}");
    completions(world_.context, exchange_);
  }
  json::value answer() {
    EXPECT_EQ(world_.answer().status, 200) << world_.answer().body;
    return parse_json(world_.answer().body, "answer").value_or(nullptr);
  }
  ProtocolWorld world_;
  std::shared_ptr<LocalExchange> exchange_;
};

TEST_F(CompletionAnswerTest, one_object) {
  complete(R"("prompt": "Hi", "seed": 5)");
  EXPECT_EQ(
      world_.answer().body,
      R"({"id":"cmpl-910a2dec89025cc15c52bd40","object":"text_completion","created":1721952000,)"
      R"("model":"kvern-tiny","system_fingerprint":"kvern-test","choices":[{"text":"Hello there.","index":0,)"
      R"("logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":4,)"
      R"("total_tokens":5,"prompt_tokens_details":{"cached_tokens":1,"audio_tokens":0},)"
      R"("completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,)"
      R"("rejected_prediction_tokens":0}},"seed":5})");
}

TEST_F(CompletionAnswerTest, a_stream) {
  complete(R"("prompt": "Hi", "seed": 5, "stream": true, "echo": true)");
  const auto chunk = [](const std::string& text, const std::string& end = "null") {
    return R"({"id":"cmpl-910a2dec89025cc15c52bd40","object":"text_completion","created":1721952000,)"
           R"("model":"kvern-tiny","system_fingerprint":"kvern-test","choices":[{"text":")" +
           text + R"(","index":0,"logprobs":null,"finish_reason":)" + end + "}]}";
  };
  EXPECT_EQ(world_.events(),
            (std::vector<std::string>{chunk("Hi"), chunk("Hello"), chunk(" there"), chunk("."),
                                      chunk("", R"("stop","seed":5)"), "[DONE]"}));
}

TEST_F(CompletionAnswerTest, several_prompts_and_choices_are_numbered_in_order) {
  world_.service.play(say(tokenizer(), {{.text = "A"}, {.text = "B"}}));
  complete(R"("prompt": ["x", "y"], "n": 2)");
  const json::value answer = this->answer();
  ASSERT_EQ(at(answer, "choices").as_array().size(), 4U);
  std::string texts;
  for (const json::value& choice : answer.at("choices").as_array()) {
    texts += choice.at("text").as_string();
    texts += std::to_string(choice.at("index").as_int64());
  }
  EXPECT_EQ(texts, "A0B1A2B3");
  EXPECT_EQ(at(answer, "usage.prompt_tokens"), json::value(2));
  EXPECT_EQ(at(answer, "usage.completion_tokens"), json::value(8));
}

TEST_F(CompletionAnswerTest, the_best_of_many_come_in_their_order) {
  // The service gives out choices 4 and 1.
  world_.service.play([](const engine::ServiceRequest& request, engine::GenerationSink& sink) {
    ASSERT_EQ(request.choices, 5);
    for (const int32_t choice : {4, 1}) {
      sink.on_token({.choice = choice, .text = choice == 4 ? "best" : "second"});
      sink.on_choice_end({.choice = choice});
    }
    sink.on_end({.generated_tokens = 5});
  });
  complete(R"("prompt": "x", "n": 2, "best_of": 5)");
  EXPECT_EQ(at(answer(), "choices[0].text"), json::value("best"));
  EXPECT_EQ(at(answer(), "choices[1].text"), json::value("second"));
  EXPECT_EQ(at(answer(), "usage.completion_tokens"), json::value(5));
}

TEST_F(CompletionAnswerTest, echo_gives_the_prompt_with_its_log_probabilities) {
  world_.service.play(say(tokenizer(), {{.text = " there"}}));
  complete(R"("prompt": "Hello \u00e9", "echo": true, "logprobs": 1, "max_tokens": 5)");
  const json::value answer = this->answer();
  EXPECT_EQ(at(answer, "choices[0].text"), json::value("Hello \u00e9 there"));
  const json::array tokens = at(answer, "choices[0].logprobs.tokens").as_array();
  const json::array logprobs = at(answer, "choices[0].logprobs.token_logprobs").as_array();
  const json::array top = at(answer, "choices[0].logprobs.top_logprobs").as_array();
  const json::array offsets = at(answer, "choices[0].logprobs.text_offset").as_array();
  const size_t prompt = tokenizer().encode("Hello \u00e9").size();
  ASSERT_EQ(tokens.size(), prompt + 1) << "the end token is no part of the text";
  ASSERT_TRUE(logprobs.size() == tokens.size() && top.size() == tokens.size() &&
              offsets.size() == tokens.size());
  EXPECT_EQ(tokens[0], json::value("Hello"));
  EXPECT_TRUE(logprobs[0].is_null() && top[0].is_null()) << "nothing comes before the first";
  EXPECT_EQ(logprobs[1], json::value(-0.5));
  EXPECT_EQ(offsets[0], json::value(0));
  EXPECT_EQ(offsets[1], json::value(5));
  EXPECT_EQ(offsets.back(), json::value(7)) << "characters, not bytes";
}

TEST_F(CompletionAnswerTest, log_probabilities_name_the_most_likely_tokens) {
  world_.service.play(say(tokenizer(), {{.text = "Hello there"}}));
  complete(R"("prompt": "x", "logprobs": 2)");
  const json::value whole = at(answer(), "choices[0].logprobs");
  EXPECT_EQ(at(whole, "tokens"), (json::value{"Hello", " there"}));
  EXPECT_EQ(at(whole, "top_logprobs[0]").as_object().size(), 2U);
  EXPECT_EQ(at(whole, "top_logprobs[0].Hello"), json::value(-0.5));
  EXPECT_EQ(at(whole, "text_offset"), (json::value{0, 5}));
  complete(R"("prompt": "x", "logprobs": 2, "stream": true)");
  json::array tokens;
  for (const std::string& event : world_.events()) {
    if (event == "[DONE]") continue;
    ASSERT_OK_AND_ASSIGN(const json::value chunk, parse_json(event, "chunk"));
    const json::value part = at(chunk, "choices[0].logprobs.tokens");
    for (const json::value& token : part.is_array() ? part.as_array() : json::array())
      tokens.push_back(token);
  }
  EXPECT_EQ(tokens, at(whole, "tokens").as_array());
}

TEST_F(CompletionAnswerTest, B63_a_stream_joined_is_the_whole_answer_wherever_it_was_cut) {
  std::mt19937 random(6);
  const std::vector<std::string> words = {"a",    " b",  "\n",  "caf\u00e9",  "\U0001F600",
                                          "\nUs", "er:", "b,c", "<tool_call>"};
  for (int round = 0; round < 200; ++round) {
    ScriptedChoice script;
    for (auto count = random() % 8; count > 0; --count) script.text += words[random() % words.size()];
    script.reason = random() % 4 == 0 ? engine::FinishReason::kLength : engine::FinishReason::kStop;
    script.held_back = random() % 4 == 0 ? std::min<size_t>(script.text.size(), 1) : 0;
    if (!script.text.empty() && (static_cast<unsigned char>(script.text.back()) & 0x80) != 0)
      script.held_back = 0;
    SCOPED_TRACE(script.text);
    world_.service.play(say(tokenizer(), {script}));
    complete(R"("prompt": "x")");
    const json::value whole = answer();
    EXPECT_EQ(at(whole, "choices[0].text"), json::value(script.text));
    complete(R"("prompt": "x", "stream": true)");
    json::string joined;
    json::value reason;
    ASSERT_EQ(world_.events().back(), "[DONE]");
    for (const std::string& event : world_.events()) {
      if (event == "[DONE]") continue;
      EXPECT_TRUE(reason.is_null()) << "behind the end: " << event;
      ASSERT_OK_AND_ASSIGN(const json::value chunk, parse_json(event, "chunk"));
      joined += at(chunk, "choices[0].text").as_string();
      reason = at(chunk, "choices[0].finish_reason");
    }
    EXPECT_EQ(joined, at(whole, "choices[0].text").as_string());
    EXPECT_EQ(reason, at(whole, "choices[0].finish_reason"));
  }
}

TEST_F(CompletionAnswerTest, token_ids_come_on_request) {
  complete(R"("prompt": [5, 6], "return_token_ids": true)");
  EXPECT_EQ(at(answer(), "choices[0].prompt_token_ids"), (json::value{5, 6}));
  EXPECT_EQ(at(answer(), "choices[0].token_ids").as_array().size(), 4U);
}

TEST_F(CompletionAnswerTest, errors_and_cancels) {
  world_.service.play(nullptr);
  complete(R"("prompt": "x")");
  world_.service.last_sink()->on_error({.code = ErrorCode::kInternal, .message = "broken"});
  EXPECT_EQ(world_.answer().status, 500);
  complete(R"("prompt": "x", "stream": true)");
  world_.service.last_sink()->on_error({.code = ErrorCode::kInternal, .message = "broken"});
  EXPECT_EQ(world_.events().back(),
            R"({"error":{"message":"broken","type":"server_error","param":null,"code":null}})");
  world_.service.play(say(tokenizer(), {{.text = "x", .reason = engine::FinishReason::kCancelled}}));
  complete(R"("prompt": "x")");
  EXPECT_EQ(world_.answer().status, 503);
}

TEST_F(CompletionAnswerTest, what_is_late_is_a_timeout) {
  world_.service.play(nullptr);
  complete(R"("prompt": "x")");
  world_.service.last_sink()->on_error(
      {.code = ErrorCode::kExhausted, .message = "late", .where = std::string(engine::kDeadline)});
  EXPECT_EQ(world_.answer().status, 504);
}

}  // namespace
}  // namespace kvern::server::openai
