#include "server/protocol/openai/chat_request.h"

#include <gtest/gtest.h>

#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server::openai {
namespace {

using test::ProtocolWorld;

constexpr std::string_view kHello = R"("messages": [{"role": "user", "content": "Hello"}])";
constexpr std::string_view kTools =
    R"("tools": [{"type": "function", "function": {"name": "get", "parameters": {"type": "object"}, "strict": true}},
                 {"type": "function", "function": {"name": "set", "description": "Sets."}}])";

class ChatRequestTest : public testing::Test {
 protected:
  Result<ChatRequest> read(std::string_view fields, std::string_view messages = kHello) {
    std::string body = "{" + std::string(messages);
    if (!fields.empty()) body += ", " + std::string(fields);
    KVERN_TRY(const json::value value, parse_json(body + "}", "body"));
    return read_chat_request(value, world_.context);
  }
  std::string prompt_of(const ChatRequest& request) {
    return test::bundled_engine().tokenizer()->decode(request.service.generate.prompt,
                                                      {.skip_special = false});
  }
  ProtocolWorld world_;
};

TEST_F(ChatRequestTest, defaults_are_those_of_openai) {
  ASSERT_OK_AND_ASSIGN(const ChatRequest request, read(""));
  const engine::SamplingParams& sampling = request.service.generate.sampling;
  EXPECT_EQ(sampling.temperature, 1.0F);
  EXPECT_EQ(sampling.top_p, 1.0F);
  EXPECT_EQ(sampling.top_k, 0);
  EXPECT_EQ(sampling.min_p, 0.0F);
  EXPECT_EQ(sampling.repeat_penalty, 1.0F);
  EXPECT_EQ(sampling.additive_scope, engine::PenaltyScope::kGenerated);
  EXPECT_EQ(sampling.repeat_last_n, engine::kWholeHistory);
  EXPECT_FALSE(sampling.top_logprobs);
  EXPECT_EQ(request.service.choices, 1);
  EXPECT_TRUE(request.service.reuse_prefix);
  EXPECT_EQ(request.service.generate.max_new_tokens, world_.context.engine.context_tokens());
  EXPECT_FALSE(request.answer.stream);
  EXPECT_EQ(request.answer.model, "kvern-tiny");
  EXPECT_EQ(prompt_of(request), "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n");
  // Two requests without a seed differ, and can be repeated.
  ASSERT_OK_AND_ASSIGN(const ChatRequest other, read(""));
  EXPECT_NE(sampling.seed, other.service.generate.sampling.seed);
  EXPECT_EQ(sampling.seed, request.answer.seed);
}

TEST_F(ChatRequestTest, every_field_reaches_the_engine) {
  ASSERT_OK_AND_ASSIGN(const ChatRequest request, read(R"(
      "model": "tiny/alias", "temperature": 0.5, "top_p": 0.9, "presence_penalty": 1, "frequency_penalty": -2,
      "top_k": 5, "min_p": 0.1, "typical_p": 0.8, "repeat_penalty": 1.2, "repeat_last_n": 32, "min_keep": 2,
      "xtc_probability": 0.3, "xtc_threshold": 0.2, "seed": -7, "n": 3, "max_completion_tokens": 9,
      "stop": ["a", "b"], "logit_bias": {"5": -100, "7": 1.5}, "logprobs": true, "top_logprobs": 4,
      "ignore_eos": true, "cache_prompt": false, "cache_salt": "s", "user": "u", "stream": true,
      "stream_options": {"include_usage": true}, "return_progress": true, "return_token_ids": true)"));
  const engine::GenerateRequest& generate = request.service.generate;
  const engine::SamplingParams& sampling = generate.sampling;
  EXPECT_EQ(sampling.temperature, 0.5F);
  EXPECT_EQ(sampling.top_p, 0.9F);
  EXPECT_EQ(sampling.presence_penalty, 1);
  EXPECT_EQ(sampling.frequency_penalty, -2);
  EXPECT_EQ(sampling.top_k, 5);
  EXPECT_EQ(sampling.min_p, 0.1F);
  EXPECT_EQ(sampling.typical_p, 0.8F);
  EXPECT_EQ(sampling.repeat_penalty, 1.2F);
  EXPECT_EQ(sampling.repeat_last_n, 32);
  EXPECT_EQ(sampling.min_keep, 2);
  EXPECT_EQ(sampling.xtc_probability, 0.3F);
  EXPECT_EQ(sampling.xtc_threshold, 0.2F);
  EXPECT_EQ(sampling.seed, static_cast<uint64_t>(-7));
  EXPECT_EQ(request.service.choices, 3);
  EXPECT_EQ(generate.max_new_tokens, 9);
  EXPECT_EQ(generate.stop, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(sampling.logit_bias.size(), 2U);
  EXPECT_EQ(sampling.logit_bias[0].token, 5);
  EXPECT_EQ(sampling.logit_bias[0].bias, -100);
  EXPECT_EQ(sampling.top_logprobs, 4U);
  EXPECT_TRUE(generate.ignore_end_tokens);
  EXPECT_FALSE(request.service.reuse_prefix);
  EXPECT_EQ(request.service.cache_namespace, "s");
  EXPECT_EQ(request.service.client, "u");
  EXPECT_TRUE(request.answer.stream && request.answer.include_usage && request.answer.prompt_progress &&
              request.answer.return_token_ids);
}

TEST_F(ChatRequestTest, messages_of_all_roles_are_rendered) {
  ASSERT_OK_AND_ASSIGN(const ChatRequest request, read(kTools, R"("messages": [
      {"role": "developer", "content": "Be brief."},
      {"role": "user", "content": [{"type": "text", "text": "How is "}, {"type": "text", "text": "Oslo?"}], "name": "Ann"},
      {"role": "assistant", "content": null, "refusal": null, "annotations": [], "tool_calls": [
        {"index": 0, "id": "c1", "type": "function", "function": {"name": "get", "arguments": "{\"city\": \"Oslo\"}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "cold"}])"));
  const std::string prompt = prompt_of(request);
  EXPECT_NE(prompt.find("<|im_start|>system\nBe brief.\n\n# Tools"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("How is Oslo?<|im_end|>"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("{\"name\": \"get\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call><|im_end|>"),
            std::string::npos)
      << prompt;
  EXPECT_NE(prompt.find("<tool_response>\ncold\n</tool_response>"), std::string::npos) << prompt;
  EXPECT_EQ(prompt.find("strict"), std::string::npos) << "that is for the server";
  EXPECT_NE(
      prompt.find(
          R"("name": "set", "description": "Sets.", "parameters": {"type": "object", "properties": {}})"),
      std::string::npos)
      << prompt;
}

TEST_F(ChatRequestTest, a_role_that_speaks_wrongly_is_named) {
  const auto fails = [&](std::string_view messages, ErrorCode code, std::string_view words) {
    const auto request = read("", "\"messages\": " + std::string(messages));
    ASSERT_FALSE(request.has_value()) << messages;
    EXPECT_EQ(request.error().code, code) << messages;
    EXPECT_NE(request.error().message.find(words), std::string::npos) << request.error().message;
  };
  const auto invalid = [&](std::string_view messages, std::string_view words) {
    fails(messages, ErrorCode::kInvalidArgument, words);
  };
  const auto unsupported = [&](std::string_view messages, std::string_view words) {
    fails(messages, ErrorCode::kUnsupported, words);
  };
  invalid("[]", "messages: expected at least one message");
  invalid("7", "messages: expected an array");
  invalid("[7]", "messages[0]: expected an object");
  invalid(R"([{"content": "a"}])", "messages[0].role: expected a string, but it is missing");
  invalid(R"([{"role": "function", "content": "a"}])", "messages[0].role: expected \"system\" or");
  invalid(R"([{"role": "user"}])",
          "messages[0].content: expected a string or an array of parts, but it is missing");
  invalid(R"([{"role": "user", "content": 1}])",
          "messages[0].content: expected a string or an array of parts");
  invalid(R"([{"role": "user", "content": [1]}])", "messages[0].content[0]: expected an object");
  invalid(R"([{"role": "user", "content": [{"type": "text"}]}])", "messages[0].content[0].text");
  invalid(R"([{"role": "assistant"}])", "messages[0].content");
  invalid(R"([{"role": "tool", "content": "a"}])",
          "messages[0].tool_call_id: expected a string, but it is missing");
  invalid(R"([{"role": "assistant", "tool_calls": [{"id": "a", "type": "function"}]}])",
          "messages[0].tool_calls[0].function");
  invalid(
      R"([{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {}}}]}])",
      "messages[0].tool_calls[0].function.arguments: expected a string, got an object");
  unsupported(R"([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}])",
              "messages[0].content[0].type: only parts of the type \"text\"");
  unsupported(R"([{"role": "user", "content": "a", "typo": 1}])", "messages[0].typo");
  unsupported(R"([{"role": "assistant", "content": "a", "function_call": {}}])", "messages[0].function_call");
  unsupported(R"([{"role": "user", "content": "a", "tool_calls": []}])", "messages[0].tool_calls");
}

TEST_F(ChatRequestTest, tools_say_how_replies_are_read_and_what_is_enforced) {
  const auto with = [&](std::string_view fields) {
    return read(std::string(kTools) + ", " + std::string(fields));
  };
  ASSERT_OK_AND_ASSIGN(const ChatRequest none, with(R"("tool_choice": "none")"));
  EXPECT_EQ(none.reply.calls, engine::ToolCallStyle::kNone);
  EXPECT_EQ(prompt_of(none).find("# Tools"), std::string::npos);
  EXPECT_TRUE(world_.grammars.asked.empty());

  ASSERT_OK_AND_ASSIGN(const ChatRequest free,
                       with(R"("tool_choice": "auto", "parallel_tool_calls": false)"));
  EXPECT_EQ(free.reply.calls, engine::ToolCallStyle::kTagged);
  EXPECT_TRUE(free.reply.single_call);
  EXPECT_EQ(free.reply.tools, (std::vector<std::string>{"get", "set"}));
  ASSERT_EQ(world_.grammars.asked.size(), 1U) << "one function is strict";
  EXPECT_TRUE(world_.grammars.asked[0].starts_with("structure 0..1 free <tool_call>"))
      << world_.grammars.asked[0];

  ASSERT_OK_AND_ASSIGN(const ChatRequest required, with(R"("tool_choice": "required")"));
  EXPECT_NE(required.service.grammar, nullptr);
  EXPECT_TRUE(world_.grammars.asked[1].starts_with("structure 1.. <tool_call>")) << world_.grammars.asked[1];

  ASSERT_OK(with(R"("tool_choice": {"type": "function", "function": {"name": "set"}})"));
  EXPECT_EQ(world_.grammars.asked[2].find("get"), std::string::npos) << world_.grammars.asked[2];

  EXPECT_ERROR(with(R"("tool_choice": {"type": "function", "function": {"name": "other"}})"),
               kInvalidArgument, "tool_choice.function.name: it is none of the functions");
  EXPECT_ERROR(with(R"("tool_choice": {"type": "allowed_tools"})"), kUnsupported, "tool_choice.type");
  EXPECT_ERROR(with(R"("tool_choice": "maybe")"), kInvalidArgument, "tool_choice: expected");
  EXPECT_ERROR(with(R"("response_format": {"type": "json_object"})"), kUnsupported,
               "tools: not together with");
  EXPECT_ERROR(read(R"("tool_choice": "required")"), kInvalidArgument, "there are no tools");
  EXPECT_OK(read(R"("tool_choice": "auto", "tools": [])"));
}

TEST_F(ChatRequestTest, a_tool_that_is_wrong_is_named) {
  const auto fails = [&](std::string_view tools, std::string_view words) {
    const auto request = read("\"tools\": " + std::string(tools));
    ASSERT_FALSE(request.has_value()) << tools;
    EXPECT_NE(request.error().message.find(words), std::string::npos) << request.error().message;
  };
  fails(R"([{"type": "custom"}])", "tools[0].type: only tools of the type \"function\"");
  fails(R"([{"type": "function"}])", "tools[0].function: expected an object, but it is missing");
  fails(R"([{"type": "function", "function": {}}])", "tools[0].function.name");
  fails(R"([{"type": "function", "function": {"name": "a b"}}])", "tools[0].function.name: expected 1 to 64");
  fails(R"([{"type": "function", "function": {"name": "a", "parameters": []}}])",
        "tools[0].function.parameters");
  fails(R"([{"type": "function", "function": {"name": "a", "typo": 1}}])", "tools[0].function.typo");
  fails(
      R"([{"type": "function", "function": {"name": "a"}}, {"type": "function", "function": {"name": "a"}}])",
      "tools[1].function.name: a function of this name was given before");
  fails(R"({})", "tools: expected an array");
  EXPECT_ERROR(read(R"("functions": [])"), kUnsupported,
               "functions is not supported: it is deprecated; use tools");
}

TEST_F(ChatRequestTest, one_constraint_at_a_time) {
  ASSERT_OK_AND_ASSIGN(const ChatRequest text, read(R"("response_format": {"type": "text"})"));
  EXPECT_EQ(text.service.grammar, nullptr);
  ASSERT_OK(read(R"("response_format": {"type": "json_object"})"));
  ASSERT_OK_AND_ASSIGN(const ChatRequest schema,
                       read(R"("response_format": {"type": "json_schema", "json_schema":
      {"name": "n", "description": "d", "strict": true, "schema": {"type": "array"}}})"));
  EXPECT_NE(schema.service.grammar, nullptr);
  ASSERT_OK(read(R"("grammar": "root ::= \"a\"")"));
  ASSERT_OK(read(R"("json_schema": {"type": "null"})"));
  EXPECT_EQ(world_.grammars.asked,
            (std::vector<std::string>{"object", R"(schema {"type":"array"})", "gbnf root ::= \"a\"",
                                      R"(schema {"type":"null"})"}));
  EXPECT_ERROR(read(R"("grammar": "a", "json_schema": {})"), kInvalidArgument, "grammar: only one of");
  EXPECT_ERROR(read(R"("grammar": "bad")"), kInvalidArgument, "grammar: line 1: there is no such thing");
  EXPECT_ERROR(read(R"("json_schema": {"bad": 1})"), kInvalidArgument, "json_schema: line 1");
  EXPECT_ERROR(read(R"("response_format": {})"), kInvalidArgument, "response_format.type");
  EXPECT_ERROR(read(R"("response_format": {"type": "grammar"})"), kInvalidArgument, "response_format.type");
  EXPECT_ERROR(read(R"("response_format": {"type": "json_schema"})"), kInvalidArgument,
               "response_format.json_schema");
  EXPECT_ERROR(read(R"("response_format": {"type": "json_schema", "json_schema": {}})"), kInvalidArgument,
               "response_format.json_schema.name");
  EXPECT_ERROR(read(R"("response_format": {"type": "text", "json_schema": {}})"), kInvalidArgument,
               "response_format.json_schema: only allowed");
}

TEST_F(ChatRequestTest, contradictions_are_named) {
  EXPECT_ERROR(read(R"("max_tokens": 1, "max_completion_tokens": 2)"), kInvalidArgument,
               "max_tokens: it and");
  EXPECT_OK(read(R"("max_tokens": 2, "max_completion_tokens": 2)"));
  EXPECT_ERROR(read(R"("top_logprobs": 2)"), kInvalidArgument,
               "top_logprobs: only allowed when logprobs is true");
  EXPECT_ERROR(read(R"("stream_options": {})"), kInvalidArgument,
               "stream_options: only allowed when stream is true");
  EXPECT_ERROR(read(R"("return_progress": true)"), kInvalidArgument, "return_progress");
  EXPECT_ERROR(read(R"("continue_final_message": true)"), kInvalidArgument,
               "continue_final_message: only a last message");
  EXPECT_ERROR(read(R"("chat_template_kwargs": {"tools": []})"), kInvalidArgument,
               "chat_template_kwargs: \"tools\"");
  EXPECT_ERROR(read(R"("model": "gpt-4")"), kNotFound, "The model `gpt-4` does not exist");
  EXPECT_ERROR(read(R"("reasoning_effort": "high")"), kUnsupported, "reasoning_effort");
  EXPECT_OK(read(R"("reasoning_effort": "none")"));
}

TEST_F(ChatRequestTest, what_happens_anyway_may_be_asked_for) {
  EXPECT_OK(read(R"("store": false, "metadata": {}, "service_tier": "auto", "modalities": ["text"],
      "verbosity": "medium", "prompt_cache_key": "k", "safety_identifier": "s", "audio": null, "prediction": null)"));
  for (const std::string_view field :
       {R"("store": true)", R"("metadata": {"a": "b"})", R"("service_tier": "flex")",
        R"("modalities": ["audio"])", R"("verbosity": "low")", R"("audio": {})", R"("prediction": {})",
        R"("web_search_options": {})", R"("prompt_cache_retention": "24h")", R"("frobnicate": 1)"}) {
    const auto request = read(field);
    ASSERT_FALSE(request.has_value()) << field;
    EXPECT_EQ(request.error().code, ErrorCode::kUnsupported) << field;
    EXPECT_EQ(field.substr(1, request.error().where.size()), request.error().where);
  }
}

TEST_F(ChatRequestTest, a_prompt_that_is_too_long_names_both_numbers) {
  std::string words;
  for (int i = 0; i < 2000; ++i) words += " a";
  const auto request = read("", "\"messages\": [{\"role\": \"user\", \"content\": \"" + words + "\"}]");
  ASSERT_FALSE(request.has_value());
  EXPECT_EQ(request.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(request.error().where, "prompt");
  EXPECT_NE(request.error().message.find("1024 tokens"), std::string::npos) << request.error().message;
}

TEST_F(ChatRequestTest, a_last_message_is_continued_on_request_alone) {
  const std::string_view messages =
      R"("messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hel"}])";
  ASSERT_OK_AND_ASSIGN(const ChatRequest open, read(R"("continue_final_message": true)", messages));
  EXPECT_TRUE(prompt_of(open).ends_with("<|im_start|>assistant\nHel"));
  ASSERT_OK_AND_ASSIGN(const ChatRequest closed, read("", messages));
  EXPECT_TRUE(prompt_of(closed).ends_with("Hel<|im_end|>\n<|im_start|>assistant\n"));
  ASSERT_OK_AND_ASSIGN(const ChatRequest bare, read(R"("add_generation_prompt": false)", messages));
  EXPECT_TRUE(prompt_of(bare).ends_with("Hel<|im_end|>\n"));
}

}  // namespace
}  // namespace kvern::server::openai
