// Every field with every kind of value: an error that names the field, or an answer; never a failure.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/protocol/responses/routes.h"
#include "server/protocol/support/field_table.h"
#include "server/protocol/support/protocol_world.h"

namespace kvern::server::responses {
namespace {

using test::at;
using test::Field;
using test::kBooleans;
using test::kObjects;
using test::kSmallNumbers;
using test::kStrings;
using test::or_null;

std::vector<Field> conversation_fields() {
  const auto item = [](const std::string& inside) { return "\"input\": [{" + inside + "}]"; };
  const auto tool = [](const std::string& inside) {
    return R"("input": "a", "tools": [{"type": "function", )" + inside + "}]";
  };
  const std::set<std::string> texts = {"\"\"", "\"x\"", "\"\\u0000\"", "[]"};
  return {{"instructions", kStrings},
          {"previous_response_id", {}},
          {"input", {"\"\"", "\"x\"", "\"\\u0000\""}, R"("input": @)"},
          {"input[0]", {}, R"("input": [@])"},
          {"input[0].type", {"null"}, item(R"("type": @, "role": "user", "content": "a")")},
          {"input[0].role", {}, item(R"("role": @, "content": "a")")},
          {"input[0].content", texts, item(R"("role": "user", "content": @)")},
          {"input[0].content[0].text", kStrings,
           item(R"("role": "user", "content": [{"type": "input_text", "text": @}])")},
          {"input[0].status", {"null"}, item(R"("role": "user", "content": "a", "status": @)")},
          {"input[0].arguments", kStrings,
           item(R"("type": "function_call", "call_id": "c", "name": "f", "arguments": @)")},
          {"input[0].summary", {"null", "[]"}, item(R"("type": "reasoning", "summary": @)")},
          {"input[1].output", texts,
           R"("input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "c", "output": @}])"},
          {"tools", {"[]"}},
          {"tools[0].name", {"\"x\""}, tool(R"("name": @)")},
          {"tools[0].parameters", or_null(kObjects), tool(R"("name": "a", "parameters": @)")},
          {"tools[0].strict", or_null(kBooleans), tool(R"("name": "a", "strict": @)")},
          {"tools[0].description", or_null(kStrings), tool(R"("name": "a", "description": @)")}};
}

std::vector<Field> other_fields() {
  return {{"temperature", {"0", "1", "1.5", "1e-400"}},
          {"top_p", kSmallNumbers},
          {"max_output_tokens", {"1", "2147483647", "9223372036854775807"}},
          {"top_logprobs", {"0", "1e-400"}},
          {"seed", {"-1", "0", "1", "2147483647", "9223372036854775807", "1e-400"}},
          {"stream", kBooleans},
          {"stream_options", {"null", "{}"}, R"("input": "a", "stream": true, "stream_options": @)"},
          {"store", kBooleans},
          {"metadata", {"{}", "{\"5\":\"x\"}"}},
          {"metadata.a", kStrings, R"("input": "a", "metadata": {"a": @})"},
          {"include", {"[]"}},
          {"include[0]", {}, R"("input": "a", "include": [@])"},
          {"user", kStrings},
          {"safety_identifier", kStrings},
          {"prompt_cache_key", kStrings},
          {"cache_salt", kStrings},
          {"cache_prompt", kBooleans},
          {"tool_choice", {}},
          {"parallel_tool_calls", kBooleans},
          {"text", {"{}"}},
          {"text.format", {"null"}, R"("input": "a", "text": {"format": @})"},
          {"text.format.schema", kObjects,
           R"("input": "a", "text": {"format": {"type": "json_schema", "name": "n", "schema": @}})"},
          {"reasoning", {"{}"}},
          {"reasoning.effort", {"null"}, R"("input": "a", "reasoning": {"effort": @})"},
          {"background", {"false"}},
          {"context_management", {"[]"}},
          {"conversation", {}},
          {"max_tool_calls", {}},
          {"moderation", {}},
          {"prompt", {}},
          {"prompt_cache_options", {}},
          {"prompt_cache_retention", {}},
          {"service_tier", {}},
          {"truncation", {}},
          {"frobnicate", {}, "", true},
          {"messages", {}, "", true},
          {"n", {}, "", true}};
}

class ResponsesMalformedTest : public testing::Test {
 protected:
  ResponsesMalformedTest() { add_routes(router_, world_.context); }
  void post(const std::string& body) {
    EXPECT_TRUE(world_.ask(router_, {.method = "POST", .path = "/v1/responses", .body = body}));
  }
  test::ProtocolWorld world_;
  Router router_;
};

TEST_F(ResponsesMalformedTest, fields_of_every_kind) {
  std::vector<Field> fields = conversation_fields();
  for (Field& field : other_fields()) fields.push_back(std::move(field));
  for (const Field& field : fields) {
    for (const std::string& value : test::kValues) {
      SCOPED_TRACE(field.name + " = " + value);
      const bool has_input = field.around.find("\"input\"") == 0;
      post(test::body_around(field, value, has_input ? "" : R"("input": "a")"));
      if (test::is_right(field, value)) {
        EXPECT_EQ(world_.answer().status, 200) << world_.answer().body;
        continue;
      }
      EXPECT_EQ(world_.answer().status, 400) << world_.answer().body;
      const json::value error = parse_json(world_.answer().body, "answer").value_or(nullptr);
      const json::value param = at(error, "error.param");
      ASSERT_TRUE(param.is_string()) << world_.answer().body;
      EXPECT_TRUE(std::string_view(param.as_string()).starts_with(field.name)) << world_.answer().body;
      EXPECT_LT(world_.answer().body.size(), 1000U);
    }
  }
}

TEST_F(ResponsesMalformedTest, what_is_no_json_says_where) {
  const std::vector<std::string> bodies = {std::string(), std::string("{"), std::string("{} {}"),
                                           std::string(100'000, '['), std::string("{\"a\": \"\xff\"}")};
  for (const std::string& body : bodies) {
    SCOPED_TRACE(body.substr(0, 40));
    post(body);
    EXPECT_EQ(world_.answer().status, 400);
    EXPECT_NE(world_.answer().body.find("invalid_json"), std::string::npos) << world_.answer().body;
  }
  for (const std::string body : {"[]", "7", "null", "\"x\"", "{}"}) {
    post(body);
    EXPECT_EQ(world_.answer().status, 400) << body;
  }
}

TEST_F(ResponsesMalformedTest, another_model_is_not_found) {
  post(R"({"input": "a", "model": "gpt-4"})");
  EXPECT_EQ(world_.answer().status, 404);
  EXPECT_NE(world_.answer().body.find("model_not_found"), std::string::npos);
}

TEST_F(ResponsesMalformedTest, a_model_that_cannot_chat_says_so) {
  world_.context.chat = fail(ErrorCode::kInvalidArgument, "this model has no chat template");
  post(R"({"input": "a"})");
  EXPECT_EQ(world_.answer().status, 400);
  EXPECT_NE(world_.answer().body.find("no chat template"), std::string::npos);
}

}  // namespace
}  // namespace kvern::server::responses
