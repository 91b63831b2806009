#include "server/protocol/openai/chat_answer.h"

#include <random>

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

class ChatAnswerTest : public testing::Test {
 protected:
  static const text::Tokenizer& tokenizer() { return *test::bundled_engine().tokenizer(); }
  void chat(std::string_view fields) {
    std::string body = R"({"messages": [{"role": "user", "content": "Hi"}])";
    if (!fields.empty()) body += ", " + std::string(fields);
    exchange_ = world_.exchange("/v1/chat/completions", body + "}");
    chat_completions(world_.context, exchange_);
  }
  json::value answer() {
    EXPECT_EQ(world_.answer().status, 200) << world_.answer().body;
    return parse_json(world_.answer().body, "answer").value_or(nullptr);
  }
  std::vector<json::value> chunks() {
    std::vector<json::value> chunks;
    for (const std::string& event : world_.events()) {
      if (event == "[DONE]") continue;
      auto chunk = parse_json(event, "chunk");
      EXPECT_OK(chunk);
      chunks.push_back(chunk.value_or(nullptr));
    }
    return chunks;
  }
  ProtocolWorld world_;
  std::shared_ptr<LocalExchange> exchange_;
};

constexpr std::string_view kTools = R"("tools": [{"type": "function", "function": {"name": "get"}}])";
const std::string kCall =
    "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";

TEST_F(ChatAnswerTest, one_object) {
  chat(R"("seed": 5)");
  EXPECT_EQ(world_.answer().content_type, "application/json");
  EXPECT_EQ(
      world_.answer().body,
      R"({"id":"chatcmpl-910a2dec89025cc15c52bd40","object":"chat.completion","created":1721952000,)"
      R"("model":"kvern-tiny","system_fingerprint":"kvern-test","choices":[{"index":0,"message":)"
      R"({"role":"assistant","content":"Hello there.","refusal":null},"logprobs":null,"finish_reason":"stop"}],)"
      R"("usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,)"
      R"("prompt_tokens_details":{"cached_tokens":1,"audio_tokens":0},"completion_tokens_details":)"
      R"({"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},)"
      R"("service_tier":"default","seed":5})");
}

TEST_F(ChatAnswerTest, a_stream) {
  chat(R"("seed": 5, "stream": true, "stream_options": {"include_usage": true})");
  EXPECT_EQ(world_.answer().content_type, "text/event-stream");
  const std::string head =
      R"({"id":"chatcmpl-910a2dec89025cc15c52bd40","object":"chat.completion.chunk","created":1721952000,)"
      R"("model":"kvern-tiny","system_fingerprint":"kvern-test","choices":[)";
  const auto choice = [&](const std::string& delta, const std::string& end = "null") {
    return head + R"({"index":0,"delta":)" + delta + R"(,"logprobs":null,"finish_reason":)" + end +
           "}],\"usage\":null}";
  };
  EXPECT_EQ(
      world_.events(),
      (std::vector<std::string>{
          choice(R"({"role":"assistant","content":"","refusal":null})"), choice(R"({"content":"Hello"})"),
          choice(R"({"content":" there"})"), choice(R"({"content":"."})"), choice("{}", R"("stop","seed":5)"),
          head +
              R"(],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,)"
              R"("prompt_tokens_details":{"cached_tokens":1,"audio_tokens":0},"completion_tokens_details":)"
              R"({"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}})",
          "[DONE]"}));
}

TEST_F(ChatAnswerTest, without_the_option_a_stream_says_nothing_of_usage) {
  chat(R"("stream": true)");
  for (const json::value& chunk : chunks()) {
    EXPECT_FALSE(chunk.as_object().contains("usage"));
    EXPECT_EQ(chunk.at("choices").as_array().size(), 1U);
  }
  EXPECT_EQ(world_.events().back(), "[DONE]");
}

TEST_F(ChatAnswerTest, tool_calls_in_one_object) {
  world_.service.play(say(tokenizer(), {{.text = "I look.\n" + kCall + "\n" + kCall}}));
  chat(kTools);
  const json::value answer = this->answer();
  EXPECT_EQ(at(answer, "choices[0].finish_reason"), json::value("tool_calls"));
  EXPECT_EQ(at(answer, "choices[0].message.content"), json::value("I look."));
  for (const std::string index : {"0", "1"}) {
    const std::string call = "choices[0].message.tool_calls[" + index + "].";
    EXPECT_EQ(at(answer, call + "type"), json::value("function"));
    EXPECT_EQ(at(answer, call + "function.name"), json::value("get"));
    EXPECT_EQ(at(answer, call + "function.arguments"), json::value(R"({"city": "Oslo"})"));
  }
  EXPECT_NE(at(answer, "choices[0].message.tool_calls[0].id"),
            at(answer, "choices[0].message.tool_calls[1].id"));
  world_.service.play(say(tokenizer(), {{.text = kCall}}));
  chat(kTools);
  EXPECT_TRUE(at(this->answer(), "choices[0].message.content").is_null());
}

TEST_F(ChatAnswerTest, tool_calls_in_a_stream) {
  world_.service.play(say(tokenizer(), {{.text = "A " + kCall}}));
  chat(std::string(kTools) + R"(, "stream": true)");
  std::string content, arguments, last;
  int begun = 0;
  for (const json::value& chunk : chunks()) {
    const json::value text = at(chunk, "choices[0].delta.content");
    if (text.is_string()) content += text.as_string();
    const json::value call = at(chunk, "choices[0].delta.tool_calls[0]");
    if (!call.is_null()) {
      EXPECT_EQ(at(call, "index"), json::value(0));
      arguments += at(call, "function.arguments").as_string();
      if (call.as_object().contains("id")) {
        ++begun;
        EXPECT_EQ(at(call, "function.name"), json::value("get"));
        EXPECT_EQ(at(call, "type"), json::value("function"));
        EXPECT_TRUE(at(call, "id").as_string().starts_with("call_"));
      } else {
        EXPECT_TRUE(at(call, "function.name").is_null());
      }
    }
    const json::value reason = at(chunk, "choices[0].finish_reason");
    if (reason.is_string()) last = reason.as_string();
  }
  EXPECT_EQ(content, "A");
  EXPECT_EQ(arguments, R"({"city": "Oslo"})");
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(last, "tool_calls");
}

TEST_F(ChatAnswerTest, a_single_call_ends_the_generation) {
  world_.service.play(nullptr);
  chat(std::string(kTools) + R"(, "parallel_tool_calls": false)");
  const auto sink = world_.service.last_sink();
  sink->on_token({.text = kCall});
  EXPECT_EQ(world_.service.cancelled().size(), 1U);
  sink->on_token({.text = "\n" + kCall});
  sink->on_choice_end({.reason = engine::FinishReason::kCancelled});
  sink->on_end({.prompt_tokens = 3});
  const json::value answer = this->answer();
  EXPECT_EQ(at(answer, "choices[0].message.tool_calls").as_array().size(), 1U);
  EXPECT_EQ(at(answer, "choices[0].finish_reason"), json::value("tool_calls"));
}

TEST_F(ChatAnswerTest, several_choices) {
  world_.service.play(say(
      tokenizer(),
      {{.text = "One."}, {.text = "Two two."}, {.text = "Three", .reason = engine::FinishReason::kLength}}));
  chat(R"("n": 3)");
  const json::value answer = this->answer();
  EXPECT_EQ(at(answer, "choices").as_array().size(), 3U);
  EXPECT_EQ(at(answer, "choices[1].index"), json::value(1));
  EXPECT_EQ(at(answer, "choices[1].message.content"), json::value("Two two."));
  EXPECT_EQ(at(answer, "choices[2].finish_reason"), json::value("length"));
  chat(R"("n": 3, "stream": true)");
  std::vector<std::string> texts(3), reasons(3);
  std::vector<bool> roles(3);
  for (const json::value& chunk : chunks()) {
    const auto index = static_cast<size_t>(at(chunk, "choices[0].index").as_int64());
    const json::value role = at(chunk, "choices[0].delta.role");
    EXPECT_EQ(role.is_string(), !roles[index]) << "role first, and once";
    roles[index] = true;
    const json::value text = at(chunk, "choices[0].delta.content");
    if (text.is_string()) texts[index] += text.as_string();
    EXPECT_TRUE(reasons[index].empty()) << "nothing follows the end";
    const json::value reason = at(chunk, "choices[0].finish_reason");
    if (reason.is_string()) reasons[index] = reason.as_string();
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"One.", "Two two.", "Three"}));
  EXPECT_EQ(reasons, (std::vector<std::string>{"stop", "stop", "length"}));
}

TEST_F(ChatAnswerTest, log_probabilities_have_tokens_and_exact_bytes) {
  world_.service.play(say(tokenizer(), {{.text = "A\U0001F600"}}));
  chat(R"("logprobs": true, "top_logprobs": 2)");
  const json::value answer = this->answer();
  const json::array tokens = at(answer, "choices[0].logprobs.content").as_array();
  std::string bytes;
  for (const json::value& token : tokens) {
    EXPECT_EQ(at(token, "logprob"), json::value(-0.5));
    EXPECT_EQ(at(token, "top_logprobs").as_array().size(), 2U);
    const json::array values = at(token, "bytes").as_array();
    for (const json::value& byte : values) bytes += static_cast<char>(byte.as_int64());
  }
  EXPECT_EQ(bytes, "A\U0001F600") << "the end token is no part of the text";
  EXPECT_TRUE(at(answer, "choices[0].logprobs.refusal").is_null());
  chat(R"("logprobs": true, "top_logprobs": 2, "stream": true)");
  json::array streamed;
  for (const json::value& chunk : chunks()) {
    const json::value part = at(chunk, "choices[0].logprobs.content");
    for (const json::value& token : part.is_array() ? part.as_array() : json::array())
      streamed.push_back(token);
  }
  EXPECT_EQ(streamed, tokens);
}

TEST_F(ChatAnswerTest, token_ids_come_on_request) {
  chat(R"("return_token_ids": true)");
  const json::value answer = this->answer();
  EXPECT_EQ(at(answer, "prompt_token_ids").as_array().size(), 9U);
  EXPECT_EQ(at(answer, "choices[0].token_ids").as_array().size(), 4U);
  chat(R"("return_token_ids": true, "stream": true)");
  json::array streamed;
  for (const json::value& chunk : chunks()) {
    const json::value ids = at(chunk, "choices[0].token_ids");
    for (const json::value& id : ids.is_array() ? ids.as_array() : json::array()) streamed.push_back(id);
  }
  EXPECT_EQ(streamed, at(answer, "choices[0].token_ids").as_array());
}

TEST_F(ChatAnswerTest, progress_of_the_prompt_comes_on_request) {
  chat(R"("stream": true, "return_progress": true)");
  int reports = 0;
  for (const json::value& chunk : chunks()) {
    if (!chunk.as_object().contains("prompt_progress")) continue;
    ++reports;
    EXPECT_TRUE(at(chunk, "choices").as_array().empty());
    EXPECT_EQ(at(chunk, "prompt_progress"), (json::value{{"total", 9}, {"cache", 1}, {"processed", 9}}));
  }
  EXPECT_EQ(reports, 1);
}

TEST_F(ChatAnswerTest, an_error_before_the_end_is_an_answer_with_its_status) {
  world_.service.play(nullptr);
  chat("");
  world_.service.last_sink()->on_token({.text = "a"});
  world_.service.last_sink()->on_error({.code = ErrorCode::kInternal, .message = "the row failed"});
  EXPECT_EQ(world_.answer().status, 500);
  EXPECT_EQ(world_.answer().body,
            R"({"error":{"message":"the row failed","type":"server_error","param":null,"code":null}})");
}

TEST_F(ChatAnswerTest, what_is_late_is_a_timeout) {
  world_.service.play(nullptr);
  const Error late{
      .code = ErrorCode::kExhausted, .message = "not in time", .where = std::string(engine::kDeadline)};
  const char* expected =
      R"({"error":{"message":"not in time","type":"timeout_error","param":null,"code":"timeout"}})";
  chat("");
  world_.service.last_sink()->on_error(late);
  EXPECT_EQ(world_.answer().status, 504);
  EXPECT_EQ(world_.answer().body, expected);
  chat(R"("stream": true)");
  world_.service.last_sink()->on_token({.text = "a"});
  world_.service.last_sink()->on_error(late);
  EXPECT_EQ(world_.events().back(), expected);
}

TEST_F(ChatAnswerTest, an_error_in_a_stream_is_an_event_and_no_end) {
  world_.service.play(nullptr);
  chat(R"("stream": true)");
  world_.service.last_sink()->on_token({.text = "a"});
  world_.service.last_sink()->on_error({.code = ErrorCode::kInternal, .message = "the row failed"});
  EXPECT_EQ(world_.answer().status, 200);
  EXPECT_EQ(world_.events().back(),
            R"({"error":{"message":"the row failed","type":"server_error","param":null,"code":null}})");
}

TEST_F(ChatAnswerTest, what_somebody_else_cancelled_is_no_success) {
  world_.service.play(say(tokenizer(), {{.text = "Hel", .reason = engine::FinishReason::kCancelled}}));
  chat("");
  EXPECT_EQ(world_.answer().status, 503) << world_.answer().body;
  chat(R"("stream": true)");
  EXPECT_NE(world_.events().back().find("\"error\""), std::string::npos);
}

TEST_F(ChatAnswerTest, a_client_that_goes_ends_its_generation) {
  world_.service.play(nullptr);
  chat(R"("stream": true)");
  EXPECT_TRUE(world_.service.cancelled().empty());
  exchange_->close();
  EXPECT_EQ(world_.service.cancelled().size(), 1U);
}

/// A stream's chunks put together again.
json::object joined(const std::vector<json::value>& chunks) {
  json::object message{{"content", ""}, {"reasoning_content", ""}, {"finish_reason", nullptr}};
  json::array calls;
  for (const json::value& chunk : chunks) {
    const json::value delta = at(chunk, "choices[0].delta");
    for (const char* name : {"content", "reasoning_content"}) {
      const json::value text = at(delta, name);
      if (text.is_string()) message[name].as_string().append(text.as_string());
    }
    const json::value parts = at(delta, "tool_calls");
    for (const json::value& part : parts.is_array() ? parts.as_array() : json::array()) {
      if (part.as_object().contains("id"))
        calls.push_back({{"name", at(part, "function.name")}, {"arguments", ""}});
      calls.at(static_cast<size_t>(part.at("index").as_int64()))
          .at("arguments")
          .as_string()
          .append(at(part, "function.arguments").as_string());
    }
    const json::value reason = at(chunk, "choices[0].finish_reason");
    if (reason.is_string()) message["finish_reason"] = reason;
  }
  message["calls"] = std::move(calls);
  return message;
}

json::object whole(const json::value& answer) {
  const json::value message = at(answer, "choices[0].message");
  json::object result{
      {"content", ""}, {"reasoning_content", ""}, {"finish_reason", at(answer, "choices[0].finish_reason")}};
  for (const char* name : {"content", "reasoning_content"})
    if (at(message, name).is_string()) result[name] = at(message, name);
  json::array calls;
  const json::value parts = at(message, "tool_calls");
  for (const json::value& part : parts.is_array() ? parts.as_array() : json::array())
    calls.push_back({{"name", at(part, "function.name")}, {"arguments", at(part, "function.arguments")}});
  result["calls"] = std::move(calls);
  return result;
}

TEST_F(ChatAnswerTest, a_stream_joined_is_the_whole_answer_wherever_it_was_cut) {
  std::mt19937 random(5);
  const std::vector<std::string> words = {kCall, "<tool_call>", "</tool_call>", "{\"name\": \"get\"",
                                          " a",  "\n",          "caf\u00e9",    "\U0001F600",
                                          ".",   "<",           "b,c",          "\nUser:"};
  for (int round = 0; round < 60; ++round) {
    std::string text;
    for (auto count = random() % 8; count > 0; --count) text += words[random() % words.size()];
    const ScriptedChoice script{
        .text = text,
        .reason = random() % 4 == 0 ? engine::FinishReason::kLength : engine::FinishReason::kStop,
        .held_back = 0};
    SCOPED_TRACE(text);
    world_.service.play(say(tokenizer(), {script}));
    chat(kTools);
    const json::object expected = whole(answer());
    chat(std::string(kTools) + R"(, "stream": true)");
    EXPECT_EQ(joined(chunks()), expected);
  }
}

TEST_F(ChatAnswerTest, text_that_was_held_back_is_not_lost) {
  world_.service.play(say(tokenizer(), {{.text = "Hello \nUs", .held_back = 3}}));
  chat("");
  EXPECT_EQ(at(answer(), "choices[0].message.content"), json::value("Hello \nUs"));
  chat(R"("stream": true)");
  EXPECT_EQ(joined(chunks())["content"], json::value("Hello \nUs"));
}

/// The bundled model with another chat template.
Result<std::unique_ptr<engine::Engine>> engine_with_template(Files& files, std::string_view chat_template) {
  engine::test::copy_bundled_folder(files);
  KVERN_TRY(json::value config,
            parse_json(engine::test::get_file(files, "/hf/tokenizer_config.json"), "config"));
  config.as_object()["chat_template"] = chat_template;
  engine::test::put_file(files, "/hf/tokenizer_config.json", to_json(config));
  return engine::Engine::open(files, {.model_path = "/hf", .threads = 1});
}

TEST_F(ChatAnswerTest, thoughts_are_told_apart_from_the_answer) {
  const auto files = make_memory_files();
  ASSERT_OK_AND_ASSIGN(const auto engine,
                       engine_with_template(*files,
                                            "{{ messages[0].content }}{{ '' if enable_thinking is defined "
                                            "and not enable_thinking else '<think>' }}{# </think> #}"));
  world_.context.chat = engine::ChatFormat::create(*engine);
  ASSERT_OK(world_.context.chat);
  // The prompt has begun the thoughts already.
  world_.service.play(say(tokenizer(), {{.text = "Hm. So.\n</think>\n\nYes."}}));
  chat("");
  const json::value answer = this->answer();
  EXPECT_EQ(at(answer, "choices[0].message.reasoning_content"), json::value("Hm. So."));
  EXPECT_EQ(at(answer, "choices[0].message.content"), json::value("Yes."));
  EXPECT_GT(at(answer, "usage.completion_tokens_details.reasoning_tokens").as_int64(), 3);
  chat(R"("stream": true)");
  EXPECT_EQ(joined(chunks()), whole(answer));
  // Without thoughts all is content, as with a format that is to leave them there.
  world_.service.play(say(tokenizer(), {{.text = "Yes."}}));
  chat(R"("chat_template_kwargs": {"enable_thinking": false})");
  EXPECT_EQ(at(this->answer(), "choices[0].message.content"), json::value("Yes."));
  chat(R"("reasoning_effort": "none")");
  EXPECT_EQ(at(this->answer(), "choices[0].message.content"), json::value("Yes."));
  chat(R"("reasoning_format": "none")");
  EXPECT_EQ(at(this->answer(), "choices[0].message.content"), json::value("Yes."));
  EXPECT_TRUE(at(this->answer(), "choices[0].message.reasoning_content").is_null());
}

}  // namespace
}  // namespace kvern::server::openai
