// Every field with every kind of value: an error that names the field, or an answer; never a failure.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/protocol/anthropic/routes.h"
#include "server/protocol/support/field_table.h"
#include "server/protocol/support/protocol_world.h"

namespace kvern::server::anthropic {
namespace {

using test::at;
using test::Field;
using test::kBooleans;
using test::kObjects;
using test::kSmallNumbers;
using test::kStrings;
using test::or_null;

const std::string kMessages = R"("messages": [{"role": "user", "content": "a"}])";

std::vector<Field> fields() {
  const auto user = [](const std::string& inside) {
    return R"("messages": [{"role": "user", )" + inside + "}]";
  };
  const auto tool = [](const std::string& inside) {
    return kMessages + R"(, "tools": [{"name": "a", "input_schema": {}, )" + inside + "}]";
  };
  return {{"max_tokens", {"1", "2147483647", "9223372036854775807"}, kMessages + R"(, "max_tokens": @)"},
          {"temperature", kSmallNumbers},
          {"top_p", kSmallNumbers},
          {"top_k", {"0", "1", "2147483647", "1e-400"}},
          {"seed", {"-1", "0", "1", "2147483647", "9223372036854775807", "1e-400"}},
          {"stop_sequences", {"[]", "[\"x\"]"}},
          {"stream", kBooleans},
          {"metadata", {"{}"}},
          {"metadata.user_id", or_null(kStrings), kMessages + R"(, "metadata": {"user_id": @})"},
          {"service_tier", {}},
          {"cache_salt", kStrings},
          {"cache_control", {}},
          {"system", {"\"\"", "\"x\"", "\"\\u0000\"", "[]"}},
          {"messages", {}, R"("messages": @)"},
          {"messages[0]", {}, R"("messages": [@])"},
          {"messages[0].role", {}, R"("messages": [{"role": @, "content": "a"}])"},
          {"messages[0].content", {"\"\"", "\"x\"", "\"\\u0000\"", "[]"}, user(R"("content": @)")},
          {"messages[0].content[0]", {}, user(R"("content": [@])")},
          {"messages[0].content[0].text", kStrings, user(R"("content": [{"type": "text", "text": @}])")},
          {"messages[0].content[0].type", {}, user(R"("content": [{"type": @, "text": "a"}])")},
          {"messages[0].content[0].cache_control",
           {"null"},
           user(R"("content": [{"type": "text", "text": "a", "cache_control": @}])")},
          {"tools", {"[]"}},
          {"tools[0].name", {"\"x\""}, kMessages + R"(, "tools": [{"name": @, "input_schema": {}}])"},
          {"tools[0].input_schema", kObjects, kMessages + R"(, "tools": [{"name": "a", "input_schema": @}])"},
          {"tools[0].description", or_null(kStrings), tool(R"("description": @)")},
          {"tools[0].strict", or_null(kBooleans), tool(R"("strict": @)")},
          {"tools[0].defer_loading", {"null", "false"}, tool(R"("defer_loading": @)")},
          {"tools[0].eager_input_streaming", or_null(kBooleans), tool(R"("eager_input_streaming": @)")},
          {"tool_choice", {}},
          {"thinking", {}},
          {"output_config", {"{}"}},
          {"output_config.format", {"null"}, kMessages + R"(, "output_config": {"format": @})"},
          {"container", {}},
          {"context_management", {}},
          {"diagnostics", {}},
          {"inference_geo", {}},
          {"mcp_servers", {"[]"}},
          {"speed", {}},
          {"user_profile_id", {}},
          {"workspace_id", {}},
          {"frobnicate", {}, "", true},
          {"max_completion_tokens", {}, "", true}};
}

class AnthropicMalformedTest : public testing::Test {
 protected:
  void post(const std::string& body) { messages(world_.context, world_.exchange("/v1/messages", body)); }
  static std::string body_of(const Field& field, const std::string& value) {
    std::string rest = R"("max_tokens": 5)";
    if (field.name == "max_tokens") return test::body_around(field, value, "");
    if (field.around.find("\"messages\"") != 0) rest += ", " + kMessages;
    return test::body_around(field, value, rest);
  }
  test::ProtocolWorld world_;
};

TEST_F(AnthropicMalformedTest, fields_of_every_kind) {
  for (const Field& field : fields()) {
    for (const std::string& value : test::kValues) {
      SCOPED_TRACE(field.name + " = " + value);
      post(body_of(field, value));
      if (test::is_right(field, value)) {
        EXPECT_EQ(world_.answer().status, 200) << world_.answer().body;
        continue;
      }
      EXPECT_EQ(world_.answer().status, 400) << world_.answer().body;
      const json::value error = parse_json(world_.answer().body, "answer").value_or(nullptr);
      EXPECT_EQ(at(error, "type"), json::value("error"));
      EXPECT_EQ(at(error, "error.type"), json::value("invalid_request_error"));
      EXPECT_NE(at(error, "error.message").as_string().find(field.name), std::string::npos)
          << world_.answer().body;
      EXPECT_LT(world_.answer().body.size(), 1000U);
    }
  }
}

TEST_F(AnthropicMalformedTest, what_is_no_json_says_where) {
  const std::vector<std::string> bodies = {std::string(), std::string("{"), std::string("{} {}"),
                                           std::string(100'000, '['), std::string("{\"a\": \"\xff\"}")};
  for (const std::string& body : bodies) {
    SCOPED_TRACE(body.substr(0, 40));
    post(body);
    EXPECT_EQ(world_.answer().status, 400);
    EXPECT_NE(world_.answer().body.find("byte "), std::string::npos) << world_.answer().body;
  }
  for (const std::string body : {"[]", "7", "null", "\"x\""}) {
    post(body);
    EXPECT_EQ(world_.answer().status, 400) << body;
  }
}

TEST_F(AnthropicMalformedTest, another_model_is_not_found) {
  post(R"({"max_tokens": 5, "model": "claude", )" + kMessages + "}");
  EXPECT_EQ(world_.answer().status, 404);
  EXPECT_NE(world_.answer().body.find("not_found_error"), std::string::npos);
}

TEST_F(AnthropicMalformedTest, a_model_that_cannot_chat_says_so) {
  world_.context.chat = fail(ErrorCode::kInvalidArgument, "this model has no chat template");
  post(R"({"max_tokens": 5, )" + kMessages + "}");
  EXPECT_EQ(world_.answer().status, 400);
  EXPECT_NE(world_.answer().body.find("no chat template"), std::string::npos);
}

}  // namespace
}  // namespace kvern::server::anthropic
