// Every field with every kind of value (spec case B65): an error that names the field, or an answer; never a
// failure.
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/protocol/openai/routes.h"
#include "server/protocol/support/field_table.h"
#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server::openai {
namespace {

using test::at;
using test::Field;
using test::kBooleans;
using test::kSmallNumbers;
using test::kStrings;
using test::kValues;
using test::or_null;

std::vector<Field> common_fields() {
  return {{"temperature", {"0", "1", "1.5", "1e-400"}},
          {"top_p", kSmallNumbers},
          {"presence_penalty", {"-1", "0", "1", "1.5", "1e-400"}},
          {"frequency_penalty", {"-1", "0", "1", "1.5", "1e-400"}},
          {"min_p", kSmallNumbers},
          {"typical_p", kSmallNumbers},
          {"repeat_penalty",
           {"1", "1.5", "2147483647", "9223372036854775807", "9223372036854775808", "18446744073709551616"}},
          {"xtc_probability", kSmallNumbers},
          {"xtc_threshold", kSmallNumbers},
          {"top_k", {"0", "1", "2147483647", "1e-400"}},
          {"min_keep", {"0", "1", "2147483647", "1e-400"}},
          {"repeat_last_n", {"-1", "0", "1", "2147483647", "1e-400"}},
          {"seed", {"-1", "0", "1", "2147483647", "9223372036854775807", "1e-400"}},
          {"n", {"1"}},
          {"stop", {"\"x\"", "\"\\u0000\"", "[]", "[\"x\"]"}},
          {"logit_bias", {"{}", "{\"5\":1}", "{\"4095\":1}"}},
          {"stream", kBooleans},
          {"stream_options", {"null", "{}"}, R"("stream": true, "stream_options": @)"},
          {"stream_options.include_usage", or_null(kBooleans),
           R"("stream": true, "stream_options": {"include_usage": @})"},
          {"return_progress", or_null(kBooleans), R"("stream": true, "return_progress": @)"},
          {"return_token_ids", kBooleans},
          {"ignore_eos", kBooleans},
          {"cache_prompt", kBooleans},
          {"cache_salt", kStrings},
          {"prompt_cache_key", kStrings},
          {"user", kStrings},
          {"safety_identifier", kStrings},
          {"store", {"false"}},
          {"metadata", {"{}"}},
          {"service_tier", {}},
          {"response_format", {}},
          {"grammar", kStrings},
          {"json_schema",
           {"{}", "{\"x\":1}", "{\"5\":1}", "{\"-1\":1}", "{\"4095\":1}", "{\"4096\":1}", "{\"5\":\"x\"}"}},
          {"frobnicate", {}, "", true}};
}

std::vector<Field> chat_fields() {
  std::vector<Field> fields = common_fields();
  const auto message = [](const std::string& inside) { return "\"messages\": [{" + inside + "}]"; };
  const std::set<std::string> objects = {"{}",           "{\"x\":1}",    "{\"5\":1}",    "{\"-1\":1}",
                                         "{\"4095\":1}", "{\"4096\":1}", "{\"5\":\"x\"}"};
  for (const Field& field : std::vector<Field>{
           {"max_tokens", {"1", "2147483647", "9223372036854775807"}},
           {"max_completion_tokens", {"1", "2147483647", "9223372036854775807"}},
           {"logprobs", kBooleans},
           {"top_logprobs", {"null", "0", "1", "1e-400"}, R"("logprobs": true, "top_logprobs": @)"},
           {"messages", {}, R"("messages": @)"},
           {"messages[0]", {}, R"("messages": [@])"},
           {"messages[0].role", {}, message(R"("role": @, "content": "a")")},
           {"messages[0].content",
            {"\"\"", "\"x\"", "\"\\u0000\"", "[]"},
            message(R"("role": "user", "content": @)")},
           {"messages[0].name", or_null(kStrings), message(R"("role": "user", "content": "a", "name": @)")},
           {"messages[0].tool_calls",
            {"null", "[]"},
            message(R"("role": "assistant", "content": "a", "tool_calls": @)")},
           {"messages[0].tool_call_id", kStrings,
            message(R"("role": "tool", "content": "a", "tool_call_id": @)")},
           {"messages[0].content[0].text", kStrings,
            message(R"("role": "user", "content": [{"type": "text", "text": @}])")},
           {"tools", {"[]"}},
           {"tools[0].function.name",
            {"\"x\""},
            R"("tools": [{"type": "function", "function": {"name": @}}])"},
           {"tools[0].function.parameters", or_null(objects),
            R"("tools": [{"type": "function", "function": {"name": "a", "parameters": @}}])"},
           {"tools[0].function.strict", or_null(kBooleans),
            R"("tools": [{"type": "function", "function": {"name": "a", "strict": @}}])"},
           {"tool_choice", {}},
           {"parallel_tool_calls", kBooleans},
           {"chat_template_kwargs", objects},
           {"add_generation_prompt", kBooleans},
           {"continue_final_message", {"false"}},
           {"reasoning_effort", {}},
           {"reasoning_format", {}},
           {"modalities", {}},
           {"audio", {}},
           {"prediction", {}},
           {"functions", {}},
           {"function_call", {}},
           {"web_search_options", {}},
           {"verbosity", {}},
           {"suffix", {}, "", true}})
    fields.push_back(field);
  return fields;
}

std::vector<Field> completion_fields() {
  std::vector<Field> fields = common_fields();
  for (const Field& field :
       std::vector<Field>{{"max_tokens", {"0", "1", "2147483647", "9223372036854775807", "1e-400"}},
                          {"prompt", {"\"x\"", "\"\\u0000\"", "[1]", "[\"x\"]"}, R"("prompt": @)"},
                          {"best_of", {"1"}},
                          {"echo", kBooleans},
                          {"logprobs", {"0", "1", "1e-400"}},
                          {"suffix", {"\"\""}},
                          {"messages", {}, "", true},
                          {"max_completion_tokens", {}, "", true}})
    fields.push_back(field);
  return fields;
}

class MalformedTest : public testing::Test {
 protected:
  /// A whole body around a field.
  static std::string body_of(const Field& field, const std::string& value, bool chat) {
    const std::string around = field.around.empty() ? "\"" + field.name + "\": @" : field.around;
    const size_t place = around.find('@');
    std::string body = "{";
    if (chat && around.find("\"messages\"") != 0)
      body += R"("messages": [{"role": "user", "content": "a"}], )";
    if (!chat && around.find("\"prompt\"") != 0) body += R"("prompt": "a", )";
    return body + around.substr(0, place) + value + around.substr(place + 1) + "}";
  }
  void post(const std::string& body, bool chat) {
    const auto exchange = world_.exchange("/", body);
    (chat ? chat_completions : completions)(world_.context, exchange);
  }
  /// The field, or what it is in, is the one that the error is about.
  void expect_named(const Field& field) {
    EXPECT_EQ(world_.answer().status, 400) << world_.answer().body;
    const json::value error = parse_json(world_.answer().body, "answer").value_or(nullptr);
    const json::value param = at(error, "error.param");
    ASSERT_TRUE(param.is_string()) << world_.answer().body;
    EXPECT_TRUE(std::string_view(param.as_string()).starts_with(field.name)) << world_.answer().body;
    EXPECT_LT(world_.answer().body.size(), 1000U);
  }
  void check(const std::vector<Field>& fields, bool chat) {
    for (const Field& field : fields) {
      for (const std::string& value : kValues) {
        SCOPED_TRACE(field.name + " = " + value);
        post(body_of(field, value, chat), chat);
        // Null is as good as absent, but for what must be there (always with something around it).
        const bool absent = value == "null" && field.around.empty() && !field.unknown;
        const bool right = absent || field.right.contains(value);
        if (right) {
          EXPECT_EQ(world_.answer().status, 200) << world_.answer().body;
        } else {
          expect_named(field);
        }
      }
    }
  }
  test::ProtocolWorld world_;
};

TEST_F(MalformedTest, chat_fields_of_every_kind) { check(chat_fields(), true); }
TEST_F(MalformedTest, completion_fields_of_every_kind) { check(completion_fields(), false); }

TEST_F(MalformedTest, large_strings_in_any_field_give_short_errors) {
  const std::string large = "\"" + std::string(size_t{10} << 20, 'x') + "\"";
  for (const char* name :
       {"temperature", "n", "user_name", "messages", "logit_bias", "model", "tools", "frobnicate"}) {
    SCOPED_TRACE(name);
    const Field field{
        .name = name, .right = {}, .around = name == std::string("messages") ? R"("messages": @)" : ""};
    post(body_of(field, large, true), true);
    EXPECT_EQ(world_.answer().status, name == std::string("model") ? 404 : 400);
    EXPECT_LT(world_.answer().body.size(), 1000U);
    EXPECT_NE(world_.answer().body.find(name), std::string::npos);
  }
}

TEST_F(MalformedTest, what_is_no_json_says_where) {
  const std::string deep(100'000, '[');
  const std::vector<std::string> bodies = {"",
                                           "{",
                                           "nul",
                                           "{\"n\": NaN}",
                                           "{\"n\": Infinity}",
                                           "{\"n\": 01}",
                                           "{'n': 1}",
                                           "{\"a\": \"\xff\"}",
                                           "{}{}",
                                           deep,
                                           "{\"messages\": " + deep,
                                           "{\"a\": " + std::string(100'000, '{')};
  for (const std::string& body : bodies) {
    for (const bool chat : {true, false}) {
      SCOPED_TRACE(body.substr(0, 40));
      post(body, chat);
      EXPECT_EQ(world_.answer().status, 400);
      const json::value error = parse_json(world_.answer().body, "answer").value_or(nullptr);
      EXPECT_EQ(at(error, "error.code"), json::value("invalid_json")) << world_.answer().body;
      EXPECT_NE(at(error, "error.message").as_string().find("byte "), std::string::npos);
    }
  }
  for (const std::string body : {"[]", "7", "null", "\"x\""}) {
    post(body, true);
    EXPECT_EQ(world_.answer().status, 400) << body;
  }
}

TEST_F(MalformedTest, a_model_without_grammars_says_so) {
  world_.context.grammars = nullptr;
  const Field format{.name = "response_format"};
  post(body_of(format, R"({"type": "json_object"})", true), true);
  expect_named(format);
}

}  // namespace
}  // namespace kvern::server::openai
