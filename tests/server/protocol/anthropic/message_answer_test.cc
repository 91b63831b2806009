#include "server/protocol/anthropic/message_answer.h"

#include <random>

#include <gtest/gtest.h>

#include "server/protocol/anthropic/routes.h"
#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server::anthropic {
namespace {

using test::at;
using test::say;

class MessageAnswerTest : public testing::Test {
 protected:
  MessageAnswerTest() { add_routes(router_, world_.context); }
  static const text::Tokenizer& tokenizer() { return *test::bundled_engine().tokenizer(); }
  void ask(std::string_view fields, HttpHeaders headers = {}) {
    std::string body = R"({"max_tokens": 50, "messages": [{"role": "user", "content": "Hi"}])";
    if (!fields.empty()) body += ", " + std::string(fields);
    EXPECT_TRUE(world_.ask(router_, {.method = "POST",
                                     .path = "/v1/messages",
                                     .headers = std::move(headers),
                                     .body = body + "}",
                                     .id = "req-1"}));
  }
  json::value answer() {
    EXPECT_EQ(world_.answer().status, 200) << world_.answer().body;
    return parse_json(world_.answer().body, "answer").value_or(nullptr);
  }
  std::vector<json::value> events() {
    std::vector<json::value> events;
    for (const std::string& event : world_.events()) {
      events.push_back(parse_json(event, "event").value_or(nullptr));
      const std::string type(at(events.back(), "type").as_string());
      EXPECT_NE(world_.answer().body.find("event: " + type + "\ndata: " + event), std::string::npos)
          << "each event is named by its type";
    }
    return events;
  }
  test::ProtocolWorld world_;
  Router router_;
};

constexpr std::string_view kTools = R"("tools": [{"name": "get", "input_schema": {"type": "object"}}])";
const std::string kCall =
    "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";

TEST_F(MessageAnswerTest, one_object) {
  ask("");
  EXPECT_EQ(
      world_.answer().body,
      R"({"id":"msg_beeb8da1658eec6757f7af6c","type":"message","role":"assistant","model":"kvern-tiny",)"
      R"("content":[{"type":"text","text":"Hello there."}],"stop_reason":"end_turn","stop_sequence":null,)"
      R"("usage":{"input_tokens":8,"cache_creation_input_tokens":0,"cache_read_input_tokens":1,)"
      R"("output_tokens":4,"service_tier":"standard"}})");
  EXPECT_EQ(world_.answer().headers, (HttpHeaders{{"request-id", "req-1"}}));
}

TEST_F(MessageAnswerTest, a_stream) {
  ask(R"("stream": true)");
  EXPECT_EQ(world_.answer().content_type, "text/event-stream");
  EXPECT_EQ(world_.answer().idle_bytes, "event: ping\ndata: {\"type\":\"ping\"}\n\n");
  EXPECT_EQ(
      world_.events(),
      (std::vector<std::string>{
          R"({"type":"message_start","message":{"id":"msg_beeb8da1658eec6757f7af6c","type":"message",)"
          R"("role":"assistant","model":"kvern-tiny","content":[],"stop_reason":null,"stop_sequence":null,)"
          R"("usage":{"input_tokens":8,"cache_creation_input_tokens":0,"cache_read_input_tokens":1,"output_tokens":0}}})",
          R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})",
          R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}})",
          R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" there"}})",
          R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"."}})",
          R"({"type":"content_block_stop","index":0})",
          R"({"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},)"
          R"("usage":{"input_tokens":8,"cache_creation_input_tokens":0,"cache_read_input_tokens":1,"output_tokens":4}})",
          R"({"type":"message_stop"})"}));
  events();
}

TEST_F(MessageAnswerTest, tools_are_blocks) {
  world_.service.play(say(tokenizer(), {{.text = "I look.\n" + kCall + "\n" + kCall}}));
  ask(kTools);
  const json::value answer = this->answer();
  EXPECT_EQ(at(answer, "stop_reason"), json::value("tool_use"));
  EXPECT_EQ(at(answer, "content").as_array().size(), 3U);
  EXPECT_EQ(at(answer, "content[0].text"), json::value("I look."));
  for (const std::string index : {"1", "2"}) {
    EXPECT_EQ(at(answer, "content[" + index + "].type"), json::value("tool_use"));
    EXPECT_EQ(at(answer, "content[" + index + "].name"), json::value("get"));
    EXPECT_TRUE(at(answer, "content[" + index + "].id").as_string().starts_with("toolu_"));
    EXPECT_EQ(at(answer, "content[" + index + "].input"), (json::value{{"city", "Oslo"}}));
  }
  EXPECT_NE(at(answer, "content[1].id"), at(answer, "content[2].id"));
}

TEST_F(MessageAnswerTest, one_call_at_most_ends_the_generation) {
  world_.service.play(say(tokenizer(), {{.text = kCall + "\n" + kCall}}));
  ask(std::string(kTools) + R"(, "tool_choice": {"type": "auto", "disable_parallel_tool_use": true})");
  EXPECT_EQ(at(answer(), "content").as_array().size(), 1U);
  EXPECT_FALSE(world_.service.cancelled().empty());
}

TEST_F(MessageAnswerTest, the_stop_reason_says_which) {
  const auto stop = [&](test::ScriptedChoice script, std::string_view fields) {
    world_.service.play(say(tokenizer(), {std::move(script)}));
    ask(fields);
    const json::value answer = this->answer();
    return std::string(at(answer, "stop_reason").as_string()) + " " + to_json(at(answer, "stop_sequence"));
  };
  EXPECT_EQ(stop({.text = "a", .stop_string = "END"}, R"("stop_sequences": ["END"])"),
            "stop_sequence \"END\"");
  EXPECT_EQ(stop({.text = "Hello there", .reason = engine::FinishReason::kLength}, ""),
            "model_context_window_exceeded null");
  std::string body = R"({"max_tokens": 2, "messages": [{"role": "user", "content": "Hi"}]})";
  world_.ask(router_, {.method = "POST", .path = "/v1/messages", .body = body});
  EXPECT_EQ(at(answer(), "stop_reason"), json::value("max_tokens"));
}

TEST_F(MessageAnswerTest, a_call_that_was_cut_has_no_input_but_a_reason) {
  world_.service.play(say(tokenizer(), {{.text = "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"ci",
                                         .reason = engine::FinishReason::kLength}}));
  ask(kTools);
  EXPECT_EQ(at(answer(), "content[0].input"), json::value(json::object{}));
  EXPECT_EQ(at(answer(), "stop_reason"), json::value("model_context_window_exceeded"));
}

TEST_F(MessageAnswerTest, thoughts_are_blocks_of_their_own) {
  world_.context.chat = test::thinking_format();
  world_.service.play(say(tokenizer(), {{.text = "Hm. So.\n</think>\n\nYes."}}));
  ask(R"("thinking": {"type": "adaptive"})");
  EXPECT_EQ(to_json(at(answer(), "content")),
            R"([{"type":"thinking","thinking":"Hm. So.","signature":""},{"type":"text","text":"Yes."}])");
  ask(R"("thinking": {"type": "adaptive", "display": "omitted"})");
  EXPECT_EQ(at(answer(), "content[0].thinking"), json::value(""));
  EXPECT_EQ(at(answer(), "content[1].text"), json::value("Yes."));
  ask(R"("thinking": {"type": "adaptive"}, "stream": true)");
  std::vector<std::string> kinds;
  for (const json::value& event : events()) {
    const json::value kind = at(event, "delta.type");
    if (kind.is_string() && (kinds.empty() || kinds.back() != kind.as_string()))
      kinds.emplace_back(kind.as_string());
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"thinking_delta", "signature_delta", "text_delta"}));
}

/// What a client makes of a stream (as Anthropic's own does).
json::object joined(const std::vector<json::value>& events) {
  json::object message;
  json::array content;
  std::string input;
  size_t open = 0;
  for (const json::value& event : events) {
    const std::string type(at(event, "type").as_string());
    if (type == "message_start") message = at(event, "message").as_object();
    if (type == "content_block_start") {
      EXPECT_EQ(at(event, "index"), json::value(content.size())) << "blocks follow each other";
      EXPECT_EQ(open++, 0U);
      content.push_back(at(event, "content_block"));
      input.clear();
    }
    if (type == "content_block_delta") {
      EXPECT_EQ(at(event, "index"), json::value(content.size() - 1));
      EXPECT_EQ(open, 1U);
      json::object& block = content.back().as_object();
      const json::value delta = at(event, "delta");
      if (at(delta, "text").is_string()) block["text"].as_string().append(at(delta, "text").as_string());
      if (at(delta, "partial_json").is_string()) input += at(delta, "partial_json").as_string();
    }
    if (type == "content_block_stop") {
      --open;
      if (auto parsed = parse_json(input, ""); parsed) content.back().as_object()["input"] = *parsed;
    }
    if (type == "message_delta") {
      const json::object delta = at(event, "delta").as_object();
      for (const auto& item : delta) message[item.key()] = item.value();
      message["usage"] = at(event, "usage");
    }
  }
  EXPECT_EQ(open, 0U);
  EXPECT_EQ(at(events.back(), "type"), json::value("message_stop"));
  message["content"] = std::move(content);
  return message;
}

/// Ids differ from answer to answer.
json::value without_ids(json::value message) {
  message.as_object().erase("id");
  message.at("usage").as_object().erase("service_tier");
  for (json::value& block : message.at("content").as_array()) block.as_object().erase("id");
  return message;
}

TEST_F(MessageAnswerTest, a_stream_joined_is_the_whole_answer_wherever_it_was_cut) {
  std::mt19937 random(5);
  const std::vector<std::string> words = {kCall, "<tool_call>", "</tool_call>", "{\"name\": \"get\"",
                                          " a",  "\n",          "caf\u00e9",    "\U0001F600",
                                          ".",   "<",           "b,c",          "\nUser:"};
  for (int round = 0; round < 60; ++round) {
    std::string text;
    for (auto count = random() % 8; count > 0; --count) text += words[random() % words.size()];
    SCOPED_TRACE(text);
    const bool cut = random() % 4 == 0;
    world_.service.play(
        say(tokenizer(),
            {{.text = text, .reason = cut ? engine::FinishReason::kLength : engine::FinishReason::kStop}}));
    ask(kTools);
    const json::value whole = without_ids(answer());
    ask(std::string(kTools) + R"(, "stream": true)");
    EXPECT_EQ(without_ids(joined(events())), whole);
  }
}

TEST_F(MessageAnswerTest, an_error_before_the_end_is_an_answer_and_one_in_a_stream_an_event) {
  world_.service.play([](const engine::ServiceRequest&, engine::GenerationSink& sink) {
    sink.on_token({.text = "a"});
    sink.on_error({.code = ErrorCode::kInternal, .message = "the row failed"});
  });
  const std::string error =
      R"({"type":"error","error":{"type":"api_error","message":"the row failed"},"request_id":"req-1"})";
  ask("");
  EXPECT_EQ(world_.answer().status, 500);
  EXPECT_EQ(world_.answer().body, error);
  ask(R"("stream": true)");
  EXPECT_EQ(world_.events().back(), error);
  EXPECT_TRUE(world_.answer().body.ends_with("event: error\ndata: " + error + "\n\n"));
}

TEST_F(MessageAnswerTest, what_is_late_is_a_timeout) {
  world_.service.play([](const engine::ServiceRequest&, engine::GenerationSink& sink) {
    sink.on_error(
        {.code = ErrorCode::kExhausted, .message = "late", .where = std::string(engine::kDeadline)});
  });
  const std::string error =
      R"({"type":"error","error":{"type":"timeout_error","message":"late"},"request_id":"req-1"})";
  ask("");
  EXPECT_EQ(world_.answer().status, 504);
  EXPECT_EQ(world_.answer().body, error);
  ask(R"("stream": true)");
  EXPECT_EQ(world_.events().back(), error);
}

TEST_F(MessageAnswerTest, what_the_service_refuses_is_told) {
  world_.service.refuse(
      Error{.code = ErrorCode::kExhausted, .message = "full", .where = "queue", .retryable = true});
  ask(R"("stream": true)");
  EXPECT_EQ(world_.answer().status, 429);
  EXPECT_EQ(at(parse_json(world_.answer().body, "").value(), "error.type"), json::value("rate_limit_error"));
}

TEST_F(MessageAnswerTest, a_client_that_goes_ends_its_generation) {
  world_.service.play(nullptr);
  const auto exchange =
      world_.exchange("/v1/messages", R"({"max_tokens": 5, "messages": [{"role": "user", "content": "a"}]})");
  messages(world_.context, exchange);
  exchange->close();
  EXPECT_EQ(world_.service.cancelled().size(), 1U);
}

TEST_F(MessageAnswerTest, versions_are_told_apart_and_others_refused) {
  ask("", {{"anthropic-version", "2023-06-01"}, {"anthropic-beta", "x-2025-01-01"}});
  EXPECT_EQ(world_.answer().status, 200);
  ask("", {{"anthropic-version", "2026-10-21"}});
  EXPECT_EQ(world_.answer().status, 200);
  ask(R"("temperature": 1)", {{"anthropic-version", "2026-10-21"}});
  EXPECT_EQ(world_.answer().status, 400);
  ask(R"("temperature": 1)", {{"anthropic-version", "2023-06-01"}});
  EXPECT_EQ(world_.answer().status, 200);
  ask("", {{"Anthropic-Version", "2023-01-01"}});
  EXPECT_EQ(world_.answer().status, 400);
  EXPECT_NE(world_.answer().body.find("anthropic-version: 2023-06-01 and 2026-10-21"), std::string::npos);
}

TEST_F(MessageAnswerTest, tokens_are_counted_without_generating) {
  EXPECT_TRUE(world_.ask(router_, {.method = "POST",
                                   .path = "/v1/messages/count_tokens",
                                   .body = R"({"messages": [{"role": "user", "content": "Hi"}]})"}));
  EXPECT_EQ(world_.answer().body, R"({"input_tokens":9})");
  EXPECT_TRUE(world_.service.requests().empty());
  EXPECT_TRUE(world_.ask(router_, {.method = "POST", .path = "/v1/messages/count_tokens", .body = "{}"}));
  EXPECT_EQ(world_.answer().status, 400);
}

TEST_F(MessageAnswerTest, errors_of_the_transport_have_the_same_form) {
  for (const Route& route : router_.routes()) {
    const HttpResponse refusal = route.options.error_answer({.status = 413, .message = "m"});
    EXPECT_EQ(refusal.body, R"({"type":"error","error":{"type":"request_too_large","message":"m"}})");
  }
}

}  // namespace
}  // namespace kvern::server::anthropic
