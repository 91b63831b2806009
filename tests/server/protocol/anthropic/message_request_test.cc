#include "server/protocol/anthropic/message_request.h"

#include <gtest/gtest.h>

#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server::anthropic {
namespace {

constexpr std::string_view kHello = R"("messages": [{"role": "user", "content": "Hello"}])";
constexpr std::string_view kTools =
    R"("tools": [{"name": "get", "description": "Gets.", "input_schema": {"type": "object"}},
                 {"type": "custom", "name": "set", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}])";

class MessageRequestTest : public testing::Test {
 protected:
  Result<MessageRequest> read(std::string_view fields, std::string_view messages = kHello) {
    std::string body = R"({"max_tokens": 10, )" + std::string(messages);
    if (!fields.empty()) body += ", " + std::string(fields);
    KVERN_TRY(const json::value value, parse_json(body + "}", "body"));
    return read_message_request(value, world_.context, version_);
  }
  Result<std::string> prompt(std::string_view fields, std::string_view messages = kHello) {
    KVERN_TRY(const MessageRequest request, read(fields, messages));
    return test::bundled_engine().tokenizer()->decode(request.service.generate.prompt,
                                                      {.skip_special = false});
  }
  void fails(std::string_view messages, ErrorCode code, std::string_view words) {
    const auto request = read("", "\"messages\": " + std::string(messages));
    ASSERT_FALSE(request.has_value()) << messages;
    EXPECT_EQ(request.error().code, code) << messages;
    EXPECT_NE(request.error().message.find(words), std::string::npos) << request.error().message;
  }
  test::ProtocolWorld world_;
  ApiVersion version_ = ApiVersion::k20230601;
};

TEST_F(MessageRequestTest, the_newer_version_has_no_sampling_fields) {
  version_ = ApiVersion::k20261021;
  ASSERT_OK_AND_ASSIGN(const MessageRequest request, read(R"("seed": 7)"));
  EXPECT_EQ(request.service.generate.sampling.temperature, 1.0F);
  EXPECT_EQ(request.service.generate.sampling.seed, 7U);
  for (const std::string field : {"temperature", "top_p", "top_k"})
    EXPECT_ERROR(read("\"" + field + "\": 1"), kUnsupported, field + " is not supported: version 2026-10-21");
}

TEST_F(MessageRequestTest, defaults_filter_nothing) {
  ASSERT_OK_AND_ASSIGN(const MessageRequest request, read(""));
  const engine::SamplingParams& sampling = request.service.generate.sampling;
  EXPECT_EQ(sampling.temperature, 1.0F);
  EXPECT_EQ(sampling.top_p, 1.0F);
  EXPECT_EQ(sampling.top_k, 0);
  EXPECT_EQ(request.service.generate.max_new_tokens, 10);
  EXPECT_FALSE(request.stream);
  EXPECT_EQ(request.model, "kvern-tiny");
  EXPECT_TRUE(request.id.starts_with("msg_"));
}

TEST_F(MessageRequestTest, every_field_reaches_the_engine) {
  ASSERT_OK_AND_ASSIGN(const MessageRequest request, read(R"(
      "model": "tiny/alias", "temperature": 0.5, "top_p": 0.9, "top_k": 5, "seed": 7, "stream": true,
      "stop_sequences": ["a", "b"], "metadata": {"user_id": "u"}, "cache_salt": "s", "service_tier": "auto",
      "cache_control": {"type": "ephemeral", "ttl": "1h"}, "thinking": {"type": "disabled"}, "mcp_servers": []
      )"));
  const engine::GenerateRequest& generate = request.service.generate;
  EXPECT_EQ(generate.sampling.temperature, 0.5F);
  EXPECT_EQ(generate.sampling.top_p, 0.9F);
  EXPECT_EQ(generate.sampling.top_k, 5);
  EXPECT_EQ(generate.sampling.seed, 7U);
  EXPECT_EQ(generate.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.service.client, "u");
  EXPECT_EQ(request.service.cache_namespace, "s");
  EXPECT_TRUE(request.stream);
}

TEST_F(MessageRequestTest, strings_and_blocks_are_the_same) {
  const std::string expected =
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi you<|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ(prompt(R"("system": "Be brief.")", R"("messages": [{"role": "user", "content": "Hi you"}])"),
            expected);
  EXPECT_EQ(prompt(R"("system": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief.",
                       "cache_control": {"type": "ephemeral"}}])",
                   R"("messages": [{"role": "user", "content": [{"type": "text", "text": "Hi "},
                       {"type": "text", "text": "you", "citations": null}]}])"),
            expected);
}

TEST_F(MessageRequestTest, turns_of_one_role_are_one_turn) {
  EXPECT_EQ(prompt("", R"("messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"},
      {"role": "assistant", "content": "c"}, {"role": "assistant", "content": "d"}, {"role": "user", "content": "e"}])"),
            "<|im_start|>user\na\nb<|im_end|>\n<|im_start|>assistant\nc\nd<|im_end|>\n<|im_start|>user\n"
            "e<|im_end|>\n<|im_start|>assistant\n");
}

TEST_F(MessageRequestTest, tools_are_used_and_their_results_follow) {
  ASSERT_OK_AND_ASSIGN(const std::string text, prompt(kTools, R"("messages": [
      {"role": "user", "content": "Weather?"},
      {"role": "assistant", "content": [{"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "get", "input": {"city": "Oslo"}, "caller": {"type": "direct"}},
        {"type": "tool_use", "id": "t2", "name": "set", "input": {}}]},
      {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "cold"}]},
        {"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": true},
        {"type": "text", "text": "And now?"}]}])"));
  EXPECT_NE(text.find("# Tools"), std::string::npos) << text;
  EXPECT_NE(text.find("Gets."), std::string::npos) << text;
  EXPECT_NE(text.find("I look."), std::string::npos) << text;
  EXPECT_NE(text.find(R"({"name": "get", "arguments": {"city": "Oslo"}})"), std::string::npos) << text;
  EXPECT_NE(text.find("<tool_response>\ncold\n</tool_response>"), std::string::npos) << text;
  EXPECT_NE(text.find("<tool_response>\nError: no\n</tool_response>"), std::string::npos) << text;
  EXPECT_LT(text.find("Error: no"), text.find("And now?")) << text;
}

TEST_F(MessageRequestTest, a_last_message_of_the_assistant_is_gone_on_with) {
  ASSERT_OK_AND_ASSIGN(
      const std::string text,
      prompt("",
             R"("messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "The"}])"));
  EXPECT_TRUE(text.ends_with("<|im_start|>assistant\nThe")) << text;
  EXPECT_ERROR(
      read(R"("output_config": {"format": {"type": "json_schema", "schema": {}}})",
           R"("messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "The"}])"),
      kUnsupported, "output_config.format");
}

TEST_F(MessageRequestTest, messages_that_are_wrong_are_named) {
  const auto invalid = ErrorCode::kInvalidArgument;
  const auto unsupported = ErrorCode::kUnsupported;
  fails("[]", invalid, "messages: expected at least one");
  fails("7", invalid, "messages: expected an array");
  fails("[7]", invalid, "messages[0]: expected an object");
  fails(R"([{"role": "tool", "content": "a"}])", invalid, "messages[0].role: expected \"user\"");
  fails(R"([{"content": "a"}])", invalid, "messages[0].role");
  fails(R"([{"role": "user"}])", invalid, "messages[0].content");
  fails(R"([{"role": "user", "content": 1}])", invalid, "messages[0].content");
  fails(R"([{"role": "user", "content": [{"type": "text"}]}])", invalid, "messages[0].content[0].text");
  fails(R"([{"role": "user", "content": [{"type": "image", "source": {}}]}])", unsupported,
        "messages[0].content[0].type: blocks of the types");
  fails(R"([{"role": "user", "content": [{"type": "document"}]}])", unsupported, "document");
  fails(R"([{"role": "user", "content": [{"type": "thinking", "thinking": "a"}]}])", unsupported, "thinking");
  fails(R"([{"role": "assistant", "content": [{"type": "redacted_thinking", "data": "a"}]}])", unsupported,
        "redacted_thinking");
  fails(R"([{"role": "user", "content": "a", "name": "b"}])", unsupported, "messages[0].name");
  fails(R"([{"role": "user", "content": [{"type": "text", "text": "a", "citations": [{}]}]}])", unsupported,
        "messages[0].content[0].citations");
  fails(
      R"([{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "forever"}}]}])",
      invalid, "messages[0].content[0].cache_control.type");
}

TEST_F(MessageRequestTest, calls_and_results_belong_together) {
  const auto invalid = ErrorCode::kInvalidArgument;
  const std::string use =
      R"({"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]})";
  fails("[" + use + "]", invalid, "messages[1]: the tool_use \"t\" has no tool_result");
  fails("[" + use + R"(, {"role": "user", "content": "b"}])", invalid, "messages[2]: the tool_use \"t\"");
  fails("[" + use + R"(, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}])",
        invalid, "messages[2].content[0].tool_use_id");
  fails("[" + use + R"(, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"},
                          {"type": "tool_result", "tool_use_id": "t"}]}])",
        invalid, "messages[2].content[1].tool_use_id");
  fails(R"([{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": "x"}]}])",
        invalid, "messages[0].content[0].input");
}

TEST_F(MessageRequestTest, tool_choice_says_what_is_enforced) {
  const auto with = [&](std::string_view choice) {
    return read(std::string(kTools) + ", \"tool_choice\": " + std::string(choice));
  };
  ASSERT_OK_AND_ASSIGN(const MessageRequest free, with(R"({"type": "auto"})"));
  EXPECT_EQ(free.reply.calls, engine::ToolCallStyle::kTagged);
  EXPECT_FALSE(free.reply.single_call);
  EXPECT_TRUE(world_.grammars.asked.empty());
  ASSERT_OK_AND_ASSIGN(const MessageRequest single,
                       with(R"({"type": "auto", "disable_parallel_tool_use": true})"));
  EXPECT_TRUE(single.reply.single_call);
  ASSERT_OK(with(R"({"type": "any"})"));
  EXPECT_TRUE(world_.grammars.asked.back().starts_with("structure 1..")) << world_.grammars.asked.back();
  ASSERT_OK(with(R"({"type": "tool", "name": "set", "disable_parallel_tool_use": true})"));
  EXPECT_TRUE(world_.grammars.asked.back().starts_with("structure 1..1")) << world_.grammars.asked.back();
  EXPECT_EQ(world_.grammars.asked.back().find("get"), std::string::npos);
  ASSERT_OK_AND_ASSIGN(const MessageRequest none, with(R"({"type": "none"})"));
  EXPECT_EQ(none.reply.calls, engine::ToolCallStyle::kNone);
  EXPECT_ERROR(with(R"({"type": "tool", "name": "x"})"), kInvalidArgument, "tool_choice.name");
  EXPECT_ERROR(with(R"({"type": "tool"})"), kInvalidArgument, "tool_choice.name");
  EXPECT_ERROR(with(R"({"type": "maybe"})"), kInvalidArgument, "tool_choice.type");
  EXPECT_ERROR(with(R"({})"), kInvalidArgument, "tool_choice.type");
  EXPECT_ERROR(with(R"({"type": "auto", "name": "get"})"), kUnsupported, "tool_choice.name");
  EXPECT_ERROR(read(R"("tool_choice": {"type": "any"})"), kInvalidArgument, "tool_choice");
}

TEST_F(MessageRequestTest, tools_that_are_wrong_are_named) {
  const auto tools = [&](std::string_view list) { return read("\"tools\": " + std::string(list)); };
  EXPECT_ERROR(tools(R"([{"type": "web_search_20250305", "name": "web_search"}])"), kUnsupported,
               "tools[0].type");
  EXPECT_ERROR(tools(R"([{"name": "a"}])"), kInvalidArgument, "tools[0].input_schema");
  EXPECT_ERROR(tools(R"([{"name": "a b", "input_schema": {}}])"), kInvalidArgument, "tools[0].name");
  EXPECT_ERROR(tools(R"([{"name": "a", "input_schema": {}}, {"name": "a", "input_schema": {}}])"),
               kInvalidArgument, "tools[1].name");
  EXPECT_ERROR(tools(R"([{"name": "a", "input_schema": {}, "defer_loading": true}])"), kUnsupported,
               "tools[0].defer_loading");
  EXPECT_ERROR(tools(R"([{"name": "a", "input_schema": {}, "input_examples": [{}]}])"), kUnsupported,
               "tools[0].input_examples");
  EXPECT_OK(tools(
      R"([{"name": "a", "input_schema": {}, "allowed_callers": ["direct"], "eager_input_streaming": true}])"));
}

TEST_F(MessageRequestTest, thinking_is_honoured_where_the_model_thinks) {
  EXPECT_ERROR(read(R"("thinking": {"type": "adaptive"})"), kUnsupported, "thinking");
  EXPECT_OK(read(R"("thinking": {"type": "disabled"})"));
  world_.context.chat = test::thinking_format();
  EXPECT_TRUE(prompt("")->ends_with("<think>\n\n</think>\n\n")) << "it is off unless asked for";
  EXPECT_TRUE(prompt(R"("thinking": {"type": "adaptive"})")->ends_with("<think>\n"));
  const std::string enabled = R"("max_tokens": 2000, "messages": [{"role": "user", "content": "a"}])";
  const auto thinking = [&](std::string_view config) {
    auto body = parse_json("{" + enabled + ", \"thinking\": " + std::string(config) + "}", "body");
    return read_message_request(*body, world_.context, version_);
  };
  ASSERT_OK_AND_ASSIGN(const MessageRequest request,
                       thinking(R"({"type": "enabled", "budget_tokens": 1024, "display": "omitted"})"));
  EXPECT_TRUE(request.reply.begins_in_reasoning);
  EXPECT_TRUE(request.omit_thinking);
  EXPECT_ERROR(thinking(R"({"type": "enabled"})"), kInvalidArgument, "thinking.budget_tokens");
  EXPECT_ERROR(thinking(R"({"type": "enabled", "budget_tokens": 1})"), kInvalidArgument,
               "thinking.budget_tokens");
  EXPECT_ERROR(thinking(R"({"type": "enabled", "budget_tokens": 2000})"), kInvalidArgument,
               "less than max_tokens");
  EXPECT_ERROR(thinking(R"({"type": "disabled", "budget_tokens": 1024})"), kUnsupported,
               "thinking.budget_tokens");
}

TEST_F(MessageRequestTest, thoughts_of_earlier_turns_reach_the_template) {
  world_.context.chat = test::thinking_format();
  ASSERT_OK_AND_ASSIGN(const std::string text, prompt("", R"("messages": [{"role": "user", "content": "a"},
      {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": ""},
        {"type": "text", "text": "b"}]}, {"role": "user", "content": "c"}])"));
  EXPECT_NE(text.find("<think>Hm.</think>b"), std::string::npos) << text;
}

TEST_F(MessageRequestTest, output_has_the_form_that_is_asked_for) {
  ASSERT_OK_AND_ASSIGN(
      const MessageRequest request,
      read(R"("output_config": {"format": {"type": "json_schema", "schema": {"type": "null"}}})"));
  EXPECT_NE(request.service.grammar, nullptr);
  EXPECT_EQ(world_.grammars.asked, (std::vector<std::string>{R"(schema {"type":"null"})"}));
  EXPECT_ERROR(read(R"("output_config": {"format": {"type": "json_schema", "schema": {"bad": 1}}})"),
               kInvalidArgument, "output_config.format.schema");
  EXPECT_ERROR(read(R"("output_config": {"effort": "high"})"), kUnsupported, "output_config.effort");
  EXPECT_ERROR(read(R"("output_config": {"format": {}})"), kInvalidArgument, "output_config.format.type");
}

TEST_F(MessageRequestTest, counting_reads_the_same_conversation) {
  const auto count = [&](std::string_view text) {
    return read_count_request(*parse_json(text, "body"), world_.context);
  };
  ASSERT_OK_AND_ASSIGN(const MessageRequest request,
                       read(std::string(R"("system": "Be brief.", )") + std::string(kTools)));
  EXPECT_EQ(
      count("{" + std::string(kHello) + R"(, "system": "Be brief.", )" + std::string(kTools) + "}").value(),
      static_cast<int64_t>(request.service.generate.prompt.size()));
  EXPECT_ERROR(count("{" + std::string(kHello) + R"(, "max_tokens": 5})"), kUnsupported, "max_tokens");
  EXPECT_ERROR(count("{" + std::string(kHello) + R"(, "stream": true})"), kUnsupported, "stream");
  EXPECT_ERROR(count("{}"), kInvalidArgument, "messages");
}

TEST_F(MessageRequestTest, a_prompt_that_is_too_long_names_both_numbers) {
  std::string words;
  for (int i = 0; i < 2000; ++i) words += " a";
  const auto request = read("", "\"messages\": [{\"role\": \"user\", \"content\": \"" + words + "\"}]");
  ASSERT_FALSE(request.has_value());
  EXPECT_EQ(request.error().code, ErrorCode::kExhausted);
  EXPECT_NE(request.error().message.find("1024 tokens"), std::string::npos) << request.error().message;
}

}  // namespace
}  // namespace kvern::server::anthropic
