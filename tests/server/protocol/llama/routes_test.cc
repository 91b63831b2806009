#include "server/protocol/llama/routes.h"

#include <gtest/gtest.h>

#include "server/protocol/llama/tokenizer_routes.h"
#include "server/protocol/support/field_table.h"
#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server::llama {
namespace {

using test::at;

class LlamaRoutesTest : public testing::Test {
 protected:
  LlamaRoutesTest() { add_routes(router_, world_.context); }
  json::value get(std::string path) {
    EXPECT_TRUE(world_.ask(router_, {.method = "GET", .path = std::move(path)}));
    return parse_json(world_.answer().body, "answer").value_or(nullptr);
  }
  json::value post(std::string path, std::string body) {
    EXPECT_TRUE(world_.ask(router_, {.method = "POST", .path = std::move(path), .body = std::move(body)}));
    return parse_json(world_.answer().body, "answer").value_or(nullptr);
  }
  void refused(std::string path, std::string body, std::string_view param) {
    const json::value answer = post(std::move(path), body);
    EXPECT_EQ(world_.answer().status, 400) << body << ": " << world_.answer().body;
    EXPECT_EQ(at(answer, "error.param"), json::value(param)) << body << ": " << world_.answer().body;
  }
  test::ProtocolWorld world_;
  Router router_;
};

TEST_F(LlamaRoutesTest, tokens_are_ids) {
  const json::value answer = post("/tokenize", R"({"content": "Hello there."})");
  EXPECT_EQ(world_.answer().status, 200);
  const auto ids = test::bundled_engine().tokenizer()->encode("Hello there.", {.add_special = false});
  EXPECT_EQ(at(answer, "tokens"), json::value(json::array(ids.begin(), ids.end())));
  EXPECT_EQ(at(post("/tokenize", R"({"content": ""})"), "tokens"), json::value(json::array{}));
}

TEST_F(LlamaRoutesTest, literals_of_special_tokens_are_these_tokens_unless_asked_not_to_be) {
  const auto count = [&](std::string_view more) {
    return at(post("/tokenize", R"({"content": "<|im_end|>")" + std::string(more) + "}"), "tokens")
        .as_array()
        .size();
  };
  EXPECT_EQ(count(""), 1U);
  EXPECT_EQ(count(R"(, "parse_special": true)"), 1U);
  EXPECT_GT(count(R"(, "parse_special": false)"), 1U);
}

TEST_F(LlamaRoutesTest, special_tokens_around_a_text_come_on_request) {
  const text::Tokenizer& tokenizer = *test::bundled_engine().tokenizer();
  for (const bool add : {false, true}) {
    const auto ids = tokenizer.encode("Hi", {.add_special = add, .parse_special = true});
    const json::value answer =
        post("/tokenize", std::string(R"({"content": "Hi", "add_special": )") + (add ? "true}" : "false}"));
    EXPECT_EQ(at(answer, "tokens"), json::value(json::array(ids.begin(), ids.end())));
  }
}

TEST_F(LlamaRoutesTest, pieces_are_strings_or_bytes) {
  const json::value answer =
      post("/tokenize", "{\"content\": \"Hi \xF0\x9F\x98\x80\", \"with_pieces\": true}");
  std::string joined;
  bool has_bytes = false;
  const json::array tokens = at(answer, "tokens").as_array();
  for (const json::value& token : tokens) {
    EXPECT_TRUE(at(token, "id").is_int64());
    const json::value piece = at(token, "piece");
    if (piece.is_string()) {
      joined += piece.as_string();
      continue;
    }
    has_bytes = true;
    for (const json::value& byte : piece.get_array()) joined += static_cast<char>(byte.to_number<int>());
  }
  EXPECT_EQ(joined, "Hi \xF0\x9F\x98\x80");
  EXPECT_TRUE(has_bytes) << "no token of the bundled model is a whole emoji";
}

TEST_F(LlamaRoutesTest, tokens_are_made_text_again) {
  for (const std::string text : {"Hello there.", "", "caf\u00e9 \U0001F600\n<|im_end|>"}) {
    const json::value tokens = at(post("/tokenize", to_json(json::object{{"content", text}})), "tokens");
    EXPECT_EQ(at(post("/detokenize", to_json(json::object{{"tokens", tokens}})), "content"),
              json::value(text));
  }
}

TEST_F(LlamaRoutesTest, a_conversation_is_rendered_and_nothing_is_generated) {
  const json::value answer = post("/apply-template", R"({"messages": [{"role": "user", "content": "Hi"}]})");
  EXPECT_EQ(at(answer, "prompt"), json::value("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"));
  EXPECT_EQ(at(post("/apply-template",
                    R"({"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": false})"),
               "prompt"),
            json::value("<|im_start|>user\nHi<|im_end|>\n"));
  const json::value tools = at(post("/apply-template",
                                    R"({"messages": [{"role": "user", "content": "Hi"}],
                                        "tools": [{"type": "function", "function": {"name": "get_it"}}]})"),
                               "prompt");
  EXPECT_NE(tools.as_string().find("get_it"), std::string::npos);
  EXPECT_TRUE(world_.service.requests().empty());
}

TEST_F(LlamaRoutesTest, properties_are_those_of_the_model) {
  const json::value props = get("/props");
  EXPECT_EQ(at(props, "default_generation_settings.n_ctx"), json::value(1024));
  EXPECT_EQ(at(props, "default_generation_settings.params.temperature"), json::value(1.0));
  EXPECT_EQ(at(props, "total_slots"), json::value(64));
  EXPECT_EQ(at(props, "model_alias"), json::value("kvern-tiny"));
  EXPECT_EQ(at(props, "chat_template"), json::value(*test::bundled_engine().chat_template()));
  EXPECT_EQ(at(props, "chat_template_caps.supports_tools"), json::value(true));
  EXPECT_EQ(at(props, "modalities.vision"), json::value(false));
  EXPECT_EQ(at(props, "eos_token"), json::value((*world_.context.chat)->eos()));
  EXPECT_EQ(at(props, "build_info"), json::value("kvern-test"));
  EXPECT_EQ(at(props, "is_sleeping"), json::value(false));
  world_.context.chat = fail(ErrorCode::kInvalidArgument, "no template");
  EXPECT_TRUE(at(get("/props"), "chat_template_caps").is_null());
}

TEST_F(LlamaRoutesTest, slots_are_rows_without_texts) {
  EXPECT_EQ(get("/slots"), json::value(json::array{}));
  world_.service.show({}, {{.ticket = engine::Ticket{7},
                            .choice = 1,
                            .state = "decode",
                            .prompt_tokens = 5,
                            .computed_tokens = 5,
                            .generated_tokens = 3},
                           {.ticket = engine::Ticket{9}, .state = "waiting", .prompt_tokens = 2}});
  EXPECT_EQ(to_json(get("/slots")),
            R"([{"id":0,"id_task":7,"choice":1,"n_ctx":1024,"speculative":false,"is_processing":true,)"
            R"("state":"decode","n_prompt_tokens":5,"n_prompt_tokens_processed":5,)"
            R"("next_token":{"has_next_token":true,"n_decoded":3}},)"
            R"({"id":1,"id_task":9,"choice":0,"n_ctx":1024,"speculative":false,"is_processing":false,)"
            R"("state":"waiting","n_prompt_tokens":2,"n_prompt_tokens_processed":0,)"
            R"("next_token":{"has_next_token":true,"n_decoded":0}}])");
}

TEST_F(LlamaRoutesTest, no_slot_is_free_when_a_request_waits) {
  get("/slots?fail_on_no_slot=1");
  EXPECT_EQ(world_.answer().status, 200);
  world_.service.show({.waiting = 1}, {});
  get("/slots");
  EXPECT_EQ(world_.answer().status, 200);
  const json::value error = get("/slots?fail_on_no_slot=1");
  EXPECT_EQ(world_.answer().status, 503);
  EXPECT_EQ(at(error, "error.type"), json::value("unavailable_error"));
}

TEST_F(LlamaRoutesTest, what_is_wrong_is_named) {
  refused("/tokenize", "{}", "content");
  refused("/tokenize", R"({"content": 1})", "content");
  refused("/tokenize", R"({"content": "a", "with_pieces": 1})", "with_pieces");
  refused("/tokenize", R"({"content": "a", "typo": 1})", "typo");
  refused("/tokenize", to_json(json::object{{"content", std::string(kMostText + 1, '+')}}), "content");
  refused("/detokenize", "{}", "tokens");
  refused("/detokenize", R"({"tokens": "a"})", "tokens");
  refused("/detokenize", R"({"tokens": [1, -1]})", "tokens[1]");
  refused("/detokenize", R"({"tokens": [4096]})", "tokens[0]");
  refused("/detokenize", R"({"tokens": ["a"]})", "tokens[0]");
  refused("/apply-template", "{}", "messages");
  refused("/apply-template", R"({"messages": [{"role": "user"}]})", "messages[0].content");
  refused("/apply-template", R"({"messages": [{"role": "user", "content": "a"}], "temperature": 1})",
          "temperature");
  for (const char* path : {"/tokenize", "/detokenize", "/apply-template"}) {
    const json::value answer = post(path, "{");
    EXPECT_EQ(at(answer, "error.code"), json::value("invalid_json"));
  }
}

TEST_F(LlamaRoutesTest, bodies_of_every_kind_are_answered_or_refused) {
  for (const std::string& value : test::kValues) {
    for (const char* path : {"/tokenize", "/detokenize", "/apply-template"}) {
      for (const char* field : {"content", "tokens", "messages", "add_special"}) {
        SCOPED_TRACE(std::string(path) + " " + field + " = " + value);
        post(path, std::string("{\"") + field + "\": " + value + "}");
        EXPECT_TRUE(world_.answer().status == 200 || world_.answer().status == 400);
      }
    }
  }
}

}  // namespace
}  // namespace kvern::server::llama
