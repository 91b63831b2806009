#include "server/protocol/responses/response_request.h"

#include <gtest/gtest.h>

#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server::responses {
namespace {

using test::at;

constexpr std::string_view kTools =
    R"("tools": [{"type": "function", "name": "get", "description": "Gets.", "parameters": {"type": "object"}, "strict": true},
                 {"type": "function", "name": "set"}])";

class ResponseRequestTest : public testing::Test {
 protected:
  Result<ResponseRequest> read(std::string_view fields, std::string_view input = R"("Hello")") {
    std::string body = "{\"input\": " + std::string(input);
    if (!fields.empty()) body += ", " + std::string(fields);
    KVERN_TRY(const json::value value, parse_json(body + "}", "body"));
    return read_response_request(value, {.context = world_.context, .store = store_, .client = "ann"});
  }
  std::string prompt_of(const ResponseRequest& request) {
    return test::bundled_engine().tokenizer()->decode(request.service.generate.prompt,
                                                      {.skip_special = false});
  }
  Result<std::string> prompt(std::string_view fields, std::string_view input = R"("Hello")") {
    KVERN_TRY(const ResponseRequest request, read(fields, input));
    return prompt_of(request);
  }
  void fails(std::string_view input, ErrorCode code, std::string_view words) {
    const auto request = read("", input);
    ASSERT_FALSE(request.has_value()) << input;
    EXPECT_EQ(request.error().code, code) << input;
    EXPECT_NE(request.error().message.find(words), std::string::npos) << request.error().message;
  }
  test::ProtocolWorld world_;
  ResponseStore store_{world_.clock, {}};
};

TEST_F(ResponseRequestTest, an_empty_response_has_all_documented_members) {
  ASSERT_OK_AND_ASSIGN(const ResponseRequest request, read(R"("temperature": 0.7)"));
  json::object response = request.response;
  EXPECT_TRUE(response.at("id").as_string().starts_with("resp_"));
  response["id"] = "resp_x";
  EXPECT_EQ(
      to_json(response),
      R"({"id":"resp_x","object":"response","created_at":1721952000,"status":"in_progress",)"
      R"("completed_at":null,"background":false,"error":null,"incomplete_details":null,"instructions":null,)"
      R"("max_output_tokens":null,"model":"kvern-tiny","output":[],"parallel_tool_calls":true,)"
      R"("previous_response_id":null,"reasoning":{"effort":null,"summary":null},"service_tier":"default",)"
      R"("store":true,"temperature":0.7,"text":{"format":{"type":"text"},"verbosity":"medium"},)"
      R"("tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1.0,"truncation":"disabled","usage":null,)"
      R"("metadata":{},"user":null,"safety_identifier":null,"prompt_cache_key":null})");
}

TEST_F(ResponseRequestTest, every_field_reaches_the_engine_and_is_told) {
  ASSERT_OK_AND_ASSIGN(const ResponseRequest request, read(R"(
      "model": "tiny/alias", "temperature": 0.5, "top_p": 0.9, "max_output_tokens": 9, "user": "u", "seed": 3,
      "instructions": "Be brief.", "metadata": {"a": "b"}, "store": false, "stream": true, "top_k": 4,
      "stream_options": {"include_obfuscation": false}, "include": ["message.output_text.logprobs"],
      "top_logprobs": 3, "parallel_tool_calls": false, "background": false, "truncation": "disabled",
      "service_tier": "auto", "prompt_cache_key": "k", "cache_salt": "s", "text": {"verbosity": "medium"})"));
  const engine::GenerateRequest& generate = request.service.generate;
  EXPECT_EQ(generate.sampling.temperature, 0.5F);
  EXPECT_EQ(generate.sampling.top_p, 0.9F);
  EXPECT_EQ(generate.sampling.top_k, 4);
  EXPECT_EQ(generate.sampling.seed, 3U);
  EXPECT_EQ(generate.sampling.top_logprobs, 3U);
  EXPECT_EQ(generate.max_new_tokens, 9);
  EXPECT_EQ(request.service.client, "u");
  EXPECT_EQ(request.service.cache_namespace, "s");
  EXPECT_TRUE(request.stream && request.logprobs);
  EXPECT_FALSE(request.store);
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, json::value>>{{"temperature", 0.5},
                                                        {"top_p", 0.9},
                                                        {"max_output_tokens", 9},
                                                        {"user", "u"},
                                                        {"store", false},
                                                        {"instructions", "Be brief."},
                                                        {"metadata", {{"a", "b"}}},
                                                        {"top_logprobs", 3},
                                                        {"parallel_tool_calls", false},
                                                        {"model", "kvern-tiny"}})
    EXPECT_EQ(request.response.at(name), value) << name;
}

TEST_F(ResponseRequestTest, text_and_items_are_the_same) {
  const std::string expected =
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ(prompt(R"("instructions": "Be brief.")", R"("Hi")"), expected);
  for (
      const std::string_view input :
      {R"([{"role": "user", "content": "Hi"}])", R"([{"type": "message", "role": "user", "content": "Hi"}])",
       R"([{"role": "user", "content": [{"type": "input_text", "text": "H"}, {"type": "input_text", "text": "i"}]}])"})
    EXPECT_EQ(prompt(R"("instructions": "Be brief.")", input), expected);
  EXPECT_EQ(
      prompt("", R"([{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}])"),
      expected);
}

TEST_F(ResponseRequestTest, items_are_kept_complete) {
  ASSERT_OK_AND_ASSIGN(const ResponseRequest request, read("", R"([{"role": "user", "content": "Hi"},
      {"id": "msg_own", "type": "message", "role": "assistant", "status": "completed", "content": [
        {"type": "output_text", "text": "Ho", "annotations": [], "logprobs": []}]}])"));
  ASSERT_EQ(request.input.size(), 2U);
  EXPECT_TRUE(at(request.input[0], "id").as_string().starts_with("msg_"));
  EXPECT_EQ(at(request.input[0], "status"), json::value("completed"));
  EXPECT_EQ(to_json(at(request.input[0], "content")), R"([{"type":"input_text","text":"Hi"}])");
  EXPECT_EQ(at(request.input[1], "id"), json::value("msg_own"));
}

TEST_F(ResponseRequestTest, calls_and_outputs_are_rendered) {
  ASSERT_OK_AND_ASSIGN(const std::string text, prompt(kTools, R"([{"role": "user", "content": "Weather?"},
      {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
      {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "get", "arguments": "{\"city\": \"Oslo\"}", "status": "completed"},
      {"type": "function_call", "call_id": "c2", "name": "set", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "c1", "output": "cold"},
      {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "done"}]}])"));
  EXPECT_NE(text.find("# Tools"), std::string::npos) << text;
  EXPECT_NE(text.find(R"({"name": "get", "arguments": {"city": "Oslo"}})"), std::string::npos) << text;
  EXPECT_NE(text.find("<tool_response>\ncold\n</tool_response>"), std::string::npos) << text;
  EXPECT_NE(text.find("<tool_response>\ndone\n</tool_response>"), std::string::npos) << text;
  const std::string turn = "<|im_start|>assistant\n";
  size_t turns = 0;
  for (size_t place = text.find(turn); place != std::string::npos; place = text.find(turn, place + 1))
    ++turns;
  EXPECT_EQ(turns, 2U) << "two calls are one turn: " << text;
}

TEST_F(ResponseRequestTest, items_that_are_wrong_are_named) {
  const auto invalid = ErrorCode::kInvalidArgument;
  const auto unsupported = ErrorCode::kUnsupported;
  fails("[]", invalid, "input: expected at least one");
  fails("7", invalid, "input: expected a string or an array");
  fails("[7]", invalid, "input[0]: expected an object");
  fails(R"([{"type": "item_reference", "id": "msg_1"}])", unsupported, "input[0].type");
  fails(R"([{"type": "web_search_call"}])", unsupported, "input[0].type: messages, function calls");
  fails(R"([{"content": "a"}])", invalid, "input[0].role");
  fails(R"([{"role": "tool", "content": "a"}])", invalid, "input[0].role");
  fails(R"([{"role": "user"}])", invalid, "input[0].content");
  fails(R"([{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}])", unsupported,
        "input[0].content[0].type");
  fails(R"([{"role": "user", "content": [{"type": "output_text", "text": "x"}]}])", unsupported,
        "input[0].content[0].type");
  fails(R"([{"role": "assistant", "content": [{"type": "refusal", "refusal": "x"}]}])", unsupported,
        "input[0].content[0].type");
  fails(R"([{"role": "user", "content": "a", "name": "b"}])", unsupported, "input[0].name");
  fails(R"([{"type": "function_call", "call_id": "c", "name": "f"}])", invalid, "input[0].arguments");
  fails(R"([{"type": "function_call", "call_id": "c", "name": "f", "arguments": {}}])", invalid,
        "input[0].arguments");
  fails(R"([{"type": "function_call_output", "call_id": "c", "output": "x"}])", invalid, "input[0].call_id");
  fails(R"([{"type": "reasoning", "summary": [{"type": "summary_text", "text": "x"}]}])", unsupported,
        "input[0].summary");
  fails(R"([{"type": "reasoning", "summary": [], "encrypted_content": "x"}])", unsupported,
        "input[0].encrypted_content");
}

TEST_F(ResponseRequestTest, tools_say_what_is_enforced_and_are_told) {
  const auto with = [&](std::string_view fields) {
    return read(std::string(kTools) + ", " + std::string(fields));
  };
  ASSERT_OK_AND_ASSIGN(const ResponseRequest free,
                       with(R"("tool_choice": "auto", "parallel_tool_calls": false)"));
  EXPECT_TRUE(free.reply.single_call);
  EXPECT_EQ(world_.grammars.asked.size(), 1U) << "one function is strict";
  EXPECT_EQ(at(free.response, "tools[0].strict"), json::value(true));
  EXPECT_EQ(at(free.response, "tools[1].strict"), json::value(false));
  EXPECT_EQ(at(free.response, "tools[1].name"), json::value("set"));
  ASSERT_OK_AND_ASSIGN(const ResponseRequest required, with(R"("tool_choice": "required")"));
  EXPECT_EQ(at(required.response, "tool_choice"), json::value("required"));
  EXPECT_TRUE(world_.grammars.asked.back().starts_with("structure 1..")) << world_.grammars.asked.back();
  ASSERT_OK_AND_ASSIGN(const ResponseRequest named,
                       with(R"("tool_choice": {"type": "function", "name": "set"})"));
  EXPECT_EQ(at(named.response, "tool_choice.name"), json::value("set"));
  ASSERT_OK_AND_ASSIGN(const ResponseRequest none, with(R"("tool_choice": "none")"));
  EXPECT_EQ(at(none.response, "tool_choice"), json::value("none"));
  EXPECT_EQ(none.reply.calls, engine::ToolCallStyle::kNone);
  EXPECT_ERROR(with(R"("tool_choice": {"type": "function", "name": "x"})"), kInvalidArgument,
               "tool_choice.name");
  EXPECT_ERROR(with(R"("tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []})"), kUnsupported,
               "tool_choice.type");
  EXPECT_ERROR(with(R"("tool_choice": "maybe")"), kInvalidArgument, "tool_choice: expected");
  EXPECT_ERROR(with(R"("text": {"format": {"type": "json_object"}})"), kUnsupported, "tools: not together");
  EXPECT_ERROR(read(R"("tool_choice": "required")"), kInvalidArgument, "there are no tools");
  EXPECT_ERROR(read(R"("tools": [{"type": "web_search"}])"), kUnsupported, "tools[0].type");
  EXPECT_ERROR(read(R"("tools": [{"type": "function", "name": "a", "defer_loading": true}])"), kUnsupported,
               "tools[0].defer_loading");
}

TEST_F(ResponseRequestTest, text_has_the_form_that_is_asked_for) {
  ASSERT_OK(read(R"("text": {"format": {"type": "json_object"}})"));
  ASSERT_OK_AND_ASSIGN(const ResponseRequest schema,
                       read(R"("text": {"format": {"type": "json_schema", "name": "n",
      "schema": {"type": "array"}, "strict": true}})"));
  EXPECT_NE(schema.service.grammar, nullptr);
  EXPECT_EQ(at(schema.response, "text.format.name"), json::value("n"));
  EXPECT_EQ(world_.grammars.asked, (std::vector<std::string>{"object", R"(schema {"type":"array"})"}));
  EXPECT_ERROR(read(R"("text": {"format": {"type": "json_schema", "name": "n"}})"), kInvalidArgument,
               "text.format.schema");
  EXPECT_ERROR(read(R"("text": {"format": {"type": "json_schema", "schema": {}}})"), kInvalidArgument,
               "text.format.name");
  EXPECT_ERROR(read(R"("text": {"format": {"type": "text", "schema": {}}})"), kUnsupported,
               "text.format.schema");
  EXPECT_ERROR(read(R"("text": {"format": {}})"), kInvalidArgument, "text.format.type");
  EXPECT_ERROR(read(R"("text": {"verbosity": "low"})"), kUnsupported, "text.verbosity");
  EXPECT_ERROR(read(R"("text": {"format": {"type": "json_schema", "name": "n", "schema": {"bad": 1}}})"),
               kInvalidArgument, "text.format.schema: line 1");
}

TEST_F(ResponseRequestTest, what_may_be_included) {
  EXPECT_OK(read(R"("include": ["file_search_call.results", "web_search_call.results"])"));
  EXPECT_ERROR(read(R"("include": ["reasoning.encrypted_content"])"), kUnsupported, "include[0]");
  EXPECT_ERROR(read(R"("include": ["typo"])"), kInvalidArgument, "include[0]");
  EXPECT_ERROR(read(R"("top_logprobs": 2)"), kInvalidArgument, "top_logprobs: only allowed when include");
  EXPECT_OK(read(R"("top_logprobs": 0)"));
}

TEST_F(ResponseRequestTest, metadata_is_small) {
  EXPECT_ERROR(read(R"("metadata": {"a": 1})"), kInvalidArgument, "metadata.a: expected a string");
  EXPECT_ERROR(read("\"metadata\": {\"a\": \"" + std::string(513, 'x') + "\"}"), kInvalidArgument,
               "metadata.a");
  EXPECT_ERROR(read("\"metadata\": {\"" + std::string(65, 'x') + "\": \"a\"}"), kInvalidArgument, "metadata");
  std::string many;
  for (int i = 0; i < 17; ++i) many += (i > 0 ? "," : "") + ("\"" + std::to_string(i) + "\": \"a\"");
  EXPECT_ERROR(read("\"metadata\": {" + many + "}"), kInvalidArgument, "metadata: 17 pairs");
}

TEST_F(ResponseRequestTest, reasoning_is_set_where_the_template_can) {
  EXPECT_ERROR(read(R"("reasoning": {"effort": "high"})"), kUnsupported, "reasoning.effort");
  EXPECT_OK(read(R"("reasoning": {"effort": "none"})"));
  EXPECT_ERROR(read(R"("reasoning": {"summary": "auto"})"), kUnsupported, "reasoning.summary");
  world_.context.chat = test::thinking_format();
  EXPECT_TRUE(prompt(R"("reasoning": {"effort": "none"})")->ends_with("<think>\n\n</think>\n\n"));
  ASSERT_OK_AND_ASSIGN(const ResponseRequest request, read(""));
  EXPECT_TRUE(request.reply.begins_in_reasoning);
}

TEST_F(ResponseRequestTest, a_conversation_is_gone_on_with) {
  const auto turn = store_.make_turn(
      {json::object{{"role", "user"}, {"content", "One"}}},
      {json::object{{"id", "msg_1"}, {"type", "message"}, {"role", "assistant"}, {"content", "Two"}}});
  store_.put("ann", "resp_1", {.body = "{}", .turns = {turn}});
  store_.put("bob", "resp_2", {.body = "{}", .turns = {turn}});
  ASSERT_OK_AND_ASSIGN(
      const ResponseRequest request,
      read(R"("previous_response_id": "resp_1", "instructions": "Be brief.")", R"("Three")"));
  EXPECT_EQ(
      prompt_of(request),
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nOne<|im_end|>\n<|im_start|>assistant\nTwo"
      "<|im_end|>\n<|im_start|>user\nThree<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(request.previous.size(), 1U);
  EXPECT_EQ(request.input.size(), 1U) << "its own";
  EXPECT_EQ(at(request.response, "previous_response_id"), json::value("resp_1"));
  EXPECT_ERROR(read(R"("previous_response_id": "resp_2")"), kNotFound, "'resp_2' not found");
}

TEST_F(ResponseRequestTest, B67_a_prompt_that_is_too_long_names_both_numbers) {
  std::string words;
  for (int i = 0; i < 2000; ++i) words += " a";
  const auto request = read("", "\"" + words + "\"");
  ASSERT_FALSE(request.has_value());
  EXPECT_EQ(request.error().code, ErrorCode::kExhausted);
  EXPECT_NE(request.error().message.find("1024 tokens"), std::string::npos) << request.error().message;
  EXPECT_NE(request.error().message.find("20"), std::string::npos) << request.error().message;
}

TEST_F(ResponseRequestTest, counting_reads_the_same_conversation) {
  const auto count = [&](std::string_view body) {
    return read_input_tokens(*parse_json(body, "body"),
                             {.context = world_.context, .store = store_, .client = ""});
  };
  ASSERT_OK_AND_ASSIGN(const ResponseRequest request, read(kTools));
  EXPECT_EQ(count("{\"input\": \"Hello\", " + std::string(kTools) + "}").value(),
            static_cast<int64_t>(request.service.generate.prompt.size()));
  EXPECT_ERROR(count(R"({"input": "Hello", "stream": true})"), kUnsupported, "stream");
}

}  // namespace
}  // namespace kvern::server::responses
