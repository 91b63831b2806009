#include "server/protocol/responses/response_answer.h"

#include <random>

#include <gtest/gtest.h>

#include "server/protocol/responses/routes.h"
#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server::responses {
namespace {

using test::at;
using test::say;

class ResponseAnswerTest : public testing::Test {
 protected:
  ResponseAnswerTest() { add_routes(router_, world_.context); }
  static const text::Tokenizer& tokenizer() { return *test::bundled_engine().tokenizer(); }
  void ask(std::string_view fields) {
    std::string body = R"({"input": "Hi")";
    if (!fields.empty()) body += ", " + std::string(fields);
    EXPECT_TRUE(world_.ask(router_, {.method = "POST", .path = "/v1/responses", .body = body + "}"}));
  }
  json::value answer() {
    EXPECT_EQ(world_.answer().status, 200) << world_.answer().body;
    return parse_json(world_.answer().body, "answer").value_or(nullptr);
  }
  /// Checks what holds for all events.
  std::vector<json::value> events() {
    std::vector<json::value> events;
    for (const std::string& event : world_.events()) {
      events.push_back(parse_json(event, "event").value_or(nullptr));
      EXPECT_EQ(at(events.back(), "sequence_number"), json::value(events.size() - 1)) << "no gaps";
      const std::string type(at(events.back(), "type").as_string());
      EXPECT_NE(world_.answer().body.find("event: " + type + "\ndata: " + event), std::string::npos);
    }
    return events;
  }
  std::vector<std::string> types() {
    std::vector<std::string> types;
    for (const json::value& event : events()) types.emplace_back(at(event, "type").as_string());
    return types;
  }
  test::ProtocolWorld world_;
  Router router_;
};

constexpr std::string_view kTools = R"("tools": [{"type": "function", "name": "get"}])";
const std::string kCall =
    "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";

TEST_F(ResponseAnswerTest, one_object) {
  ask(R"("store": false)");
  EXPECT_EQ(
      world_.answer().body,
      R"({"id":"resp_910a2dec89025cc15c52bd40","object":"response","created_at":1721952000,"status":"completed",)"
      R"("completed_at":1721952000,"background":false,"error":null,"incomplete_details":null,"instructions":null,)"
      R"("max_output_tokens":null,"model":"kvern-tiny","output":[{"id":"msg_71c18690ee42c90b37a71a75","type":"message",)"
      R"("status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],)"
      R"("text":"Hello there."}],"role":"assistant"}],"parallel_tool_calls":true,)"
      R"("previous_response_id":null,"reasoning":{"effort":null,"summary":null},"service_tier":"default",)"
      R"("store":false,"temperature":1.0,"text":{"format":{"type":"text"},"verbosity":"medium"},)"
      R"("tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1.0,"truncation":"disabled",)"
      R"("usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":1},"output_tokens":4,)"
      R"("output_tokens_details":{"reasoning_tokens":0},"total_tokens":13},"metadata":{},"user":null,"safety_identifier":null,"prompt_cache_key":null})");
}

TEST_F(ResponseAnswerTest, a_stream_of_text) {
  ask(R"("stream": true)");
  EXPECT_EQ(world_.answer().content_type, "text/event-stream");
  const std::vector<json::value> events = this->events();
  EXPECT_EQ(types(),
            (std::vector<std::string>{
                "response.created", "response.in_progress", "response.output_item.added",
                "response.content_part.added", "response.output_text.delta", "response.output_text.delta",
                "response.output_text.delta", "response.output_text.done", "response.content_part.done",
                "response.output_item.done", "response.completed"}));
  const std::string id(at(events[2], "item.id").as_string());
  EXPECT_TRUE(id.starts_with("msg_"));
  EXPECT_EQ(to_json(events[2]),
            R"({"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":")" +
                id + R"(","type":"message","status":"in_progress","content":[],"role":"assistant"}})");
  EXPECT_EQ(
      to_json(events[3]),
      R"({"type":"response.content_part.added","sequence_number":3,"item_id":")" + id +
          R"(","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}})");
  EXPECT_EQ(to_json(events[5]),
            R"({"type":"response.output_text.delta","sequence_number":5,"item_id":")" + id +
                R"(","output_index":0,"content_index":0,"delta":" there","logprobs":[]})");
  EXPECT_EQ(to_json(events[7]),
            R"({"type":"response.output_text.done","sequence_number":7,"item_id":")" + id +
                R"(","output_index":0,"content_index":0,"text":"Hello there.","logprobs":[]})");
  EXPECT_EQ(
      to_json(events[8]),
      R"({"type":"response.content_part.done","sequence_number":8,"item_id":")" + id +
          R"(","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":"Hello there."}})");
  EXPECT_EQ(at(events[0], "response.status"), json::value("in_progress"));
  EXPECT_EQ(at(events[0], "response.output"), json::value(json::array{}));
  EXPECT_EQ(at(events[10], "response.status"), json::value("completed"));
  EXPECT_EQ(at(events[10], "response.output[0]"), at(events[9], "item"));
  EXPECT_EQ(at(events[10], "response.usage.total_tokens"), json::value(13));
}

TEST_F(ResponseAnswerTest, calls_are_items) {
  world_.service.play(say(tokenizer(), {{.text = "I look.\n" + kCall + "\n" + kCall}}));
  ask(kTools);
  const json::value answer = this->answer();
  EXPECT_EQ(at(answer, "status"), json::value("completed"));
  EXPECT_EQ(at(answer, "output").as_array().size(), 3U);
  EXPECT_EQ(at(answer, "output[0].content[0].text"), json::value("I look."));
  for (const std::string item : {"output[1].", "output[2]."}) {
    EXPECT_EQ(at(answer, item + "type"), json::value("function_call"));
    EXPECT_EQ(at(answer, item + "name"), json::value("get"));
    EXPECT_EQ(at(answer, item + "arguments"), json::value(R"({"city": "Oslo"})"));
    EXPECT_EQ(at(answer, item + "status"), json::value("completed"));
    EXPECT_TRUE(at(answer, item + "id").as_string().starts_with("fc_"));
    EXPECT_TRUE(at(answer, item + "call_id").as_string().starts_with("call_"));
  }
  EXPECT_NE(at(answer, "output[1].call_id"), at(answer, "output[2].call_id"));
}

TEST_F(ResponseAnswerTest, calls_in_a_stream) {
  world_.service.play(say(tokenizer(), {{.text = kCall}}));
  ask(std::string(kTools) + R"(, "stream": true)");
  std::string arguments;
  for (const json::value& event : events()) {
    const std::string type(at(event, "type").as_string());
    if (type == "response.function_call_arguments.delta") arguments += at(event, "delta").as_string();
    if (type != "response.function_call_arguments.done") continue;
    EXPECT_EQ(at(event, "arguments"), json::value(arguments));
    EXPECT_EQ(at(event, "name"), json::value("get"));
  }
  EXPECT_EQ(arguments, R"({"city": "Oslo"})");
  EXPECT_EQ(types().front(), "response.created");
  EXPECT_EQ(types().at(2), "response.output_item.added");
  EXPECT_EQ(types().back(), "response.completed");
}

TEST_F(ResponseAnswerTest, reasoning_is_an_item_of_its_own) {
  world_.context.chat = test::thinking_format();
  world_.service.play(say(tokenizer(), {{.text = "Hm. So.\n</think>\n\nYes."}}));
  ask("");
  const json::value answer = this->answer();
  EXPECT_EQ(at(answer, "output[0].type"), json::value("reasoning"));
  EXPECT_TRUE(at(answer, "output[0].id").as_string().starts_with("rs_"));
  EXPECT_EQ(to_json(at(answer, "output[0].content")), R"([{"type":"reasoning_text","text":"Hm. So."}])");
  EXPECT_EQ(at(answer, "output[1].content[0].text"), json::value("Yes."));
  EXPECT_GT(at(answer, "usage.output_tokens_details.reasoning_tokens").to_number<int>(), 0);
  ask(R"("stream": true)");
  const auto types = this->types();
  EXPECT_EQ(std::ranges::count(types, "response.reasoning_text.done"), 1);
  EXPECT_EQ(std::ranges::count(types, "response.content_part.done"), 2);
}

TEST_F(ResponseAnswerTest, what_is_cut_is_incomplete) {
  world_.service.play(say(tokenizer(), {{.text = "Hello there", .reason = engine::FinishReason::kLength}}));
  ask("");
  const json::value answer = this->answer();
  EXPECT_EQ(at(answer, "status"), json::value("incomplete"));
  EXPECT_EQ(at(answer, "incomplete_details.reason"), json::value("max_output_tokens"));
  EXPECT_EQ(at(answer, "output[0].status"), json::value("incomplete"));
  EXPECT_TRUE(at(answer, "completed_at").is_null());
  ask(R"("stream": true)");
  EXPECT_EQ(types().back(), "response.incomplete");
}

TEST_F(ResponseAnswerTest, log_probabilities_are_those_of_the_text) {
  const std::string wanted = R"("include": ["message.output_text.logprobs"], "top_logprobs": 2)";
  ask(wanted);
  const json::array tokens = at(answer(), "output[0].content[0].logprobs").as_array();
  ASSERT_EQ(tokens.size(), 3U) << "the end token is no part of the text";
  EXPECT_EQ(at(tokens[0], "logprob"), json::value(-0.5));
  EXPECT_EQ(at(tokens[0], "top_logprobs").as_array().size(), 2U);
  ask(wanted + R"(, "stream": true)");
  json::array streamed;
  for (const json::value& event : events()) {
    if (at(event, "type") != json::value("response.output_text.delta")) continue;
    const json::array logprobs = at(event, "logprobs").as_array();
    streamed.insert(streamed.end(), logprobs.begin(), logprobs.end());
  }
  EXPECT_EQ(streamed, tokens);
}

/// What a client makes of a stream.
json::value joined(const std::vector<json::value>& events) {
  json::value response;
  json::array output;
  for (const json::value& event : events) {
    const std::string type(at(event, "type").as_string());
    if (type == "response.created") response = at(event, "response");
    if (type == "response.output_item.added") output.push_back(at(event, "item"));
    if (type == "response.content_part.added")
      output.back().at("content").as_array().push_back(at(event, "part"));
    if (type == "response.output_text.delta") {
      EXPECT_EQ(at(event, "output_index"), json::value(output.size() - 1));
      output.back().at("content").at(0).at("text").as_string().append(at(event, "delta").as_string());
    }
    if (type == "response.function_call_arguments.delta")
      output.back().at("arguments").as_string().append(at(event, "delta").as_string());
    if (type == "response.output_item.done") output.back().at("status") = at(event, "item.status");
    if (type == "response.completed" || type == "response.incomplete") {
      for (const char* name : {"status", "usage", "completed_at", "incomplete_details"})
        response.as_object()[name] = at(event, std::string("response.") + name);
    }
  }
  response.as_object()["output"] = std::move(output);
  return response;
}

json::value without_ids(json::value response) {
  response.as_object().erase("id");
  for (json::value& item : response.at("output").as_array()) {
    item.as_object().erase("id");
    item.as_object().erase("call_id");
  }
  return response;
}

TEST_F(ResponseAnswerTest, a_stream_joined_is_the_whole_answer_wherever_it_was_cut) {
  std::mt19937 random(7);
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
    const std::vector<json::value> events = this->events();
    EXPECT_EQ(without_ids(joined(events)), whole);
    EXPECT_EQ(without_ids(at(events.back(), "response")), whole);
  }
}

TEST_F(ResponseAnswerTest, a_failure_is_an_answer_or_two_events) {
  world_.service.play([](const engine::ServiceRequest&, engine::GenerationSink& sink) {
    sink.on_token({.text = "a"});
    sink.on_error({.code = ErrorCode::kInternal, .message = "the row failed"});
  });
  ask("");
  EXPECT_EQ(world_.answer().status, 500);
  EXPECT_EQ(at(parse_json(world_.answer().body, "").value(), "error.message"), json::value("the row failed"));
  ask(R"("stream": true)");
  const std::vector<json::value> events = this->events();
  const json::value& error = events[events.size() - 2];
  EXPECT_EQ(at(error, "type"), json::value("error"));
  EXPECT_EQ(at(error, "message"), json::value("the row failed"));
  EXPECT_EQ(at(events.back(), "type"), json::value("response.failed"));
  EXPECT_EQ(at(events.back(), "response.status"), json::value("failed"));
  EXPECT_EQ(at(events.back(), "response.error.code"), json::value("server_error"));
}

TEST_F(ResponseAnswerTest, what_is_late_is_a_timeout) {
  world_.service.play([](const engine::ServiceRequest&, engine::GenerationSink& sink) {
    sink.on_error(
        {.code = ErrorCode::kExhausted, .message = "late", .where = std::string(engine::kDeadline)});
  });
  ask("");
  EXPECT_EQ(world_.answer().status, 504);
  EXPECT_EQ(at(parse_json(world_.answer().body, "").value(), "error.type"), json::value("timeout_error"));
  ask(R"("stream": true)");
  EXPECT_EQ(at(events().back(), "response.error.message"), json::value("late"));
}

TEST_F(ResponseAnswerTest, what_the_service_refuses_is_told) {
  world_.service.refuse(
      Error{.code = ErrorCode::kExhausted, .message = "full", .where = "queue", .retryable = true});
  ask(R"("stream": true)");
  EXPECT_EQ(world_.answer().status, 429);
  EXPECT_EQ(world_.answer().content_type, "application/json");
}

}  // namespace
}  // namespace kvern::server::responses
