#include "server/protocol/responses/stored_routes.h"

#include <gtest/gtest.h>

#include "server/protocol/responses/routes.h"
#include "server/protocol/support/protocol_world.h"

namespace kvern::server::responses {
namespace {

using test::at;

class StoredRoutesTest : public testing::Test {
 protected:
  StoredRoutesTest() { add_routes(router_, world_.context); }
  json::value ask(std::string method, std::string path, std::string body = "", std::string client = "") {
    EXPECT_TRUE(world_.ask(router_, {.method = std::move(method),
                                     .path = std::move(path),
                                     .body = std::move(body),
                                     .client = std::move(client)}));
    return parse_json(world_.answer().body, "answer").value_or(nullptr);
  }
  std::string create(std::string body, std::string client = "") {
    return std::string(
        at(ask("POST", "/v1/responses", std::move(body), std::move(client)), "id").as_string());
  }
  test::ProtocolWorld world_;
  Router router_;
};

TEST_F(StoredRoutesTest, a_response_is_shown_as_it_was_given) {
  const std::string id = create(R"({"input": "Hi", "metadata": {"a": "b"}})");
  const std::string given = world_.answer().body;
  ask("GET", "/v1/responses/" + id);
  EXPECT_EQ(world_.answer().body, given);
}

TEST_F(StoredRoutesTest, a_stream_is_stored_as_well) {
  ask("POST", "/v1/responses", R"({"input": "Hi", "stream": true})");
  const json::value last = parse_json(world_.events().back(), "").value();
  const json::value shown = ask("GET", "/v1/responses/" + std::string(at(last, "response.id").as_string()));
  EXPECT_EQ(shown, at(last, "response"));
}

TEST_F(StoredRoutesTest, what_is_not_to_be_stored_is_not) {
  const std::string id = create(R"({"input": "Hi", "store": false})");
  const json::value error = ask("GET", "/v1/responses/" + id);
  EXPECT_EQ(world_.answer().status, 404);
  EXPECT_EQ(at(error, "error.message"), json::value("Response with id '" + id + "' not found."));
}

TEST_F(StoredRoutesTest, a_response_belongs_to_its_client) {
  const std::string id = create(R"({"input": "Hi"})", "ann");
  ask("GET", "/v1/responses/" + id, "", "bob");
  EXPECT_EQ(world_.answer().status, 404);
  ask("DELETE", "/v1/responses/" + id, "", "bob");
  EXPECT_EQ(world_.answer().status, 404);
  ask("GET", "/v1/responses/" + id + "/input_items", "", "bob");
  EXPECT_EQ(world_.answer().status, 404);
  ask("POST", "/v1/responses", R"({"input": "a", "previous_response_id": ")" + id + "\"}", "bob");
  EXPECT_EQ(world_.answer().status, 400);
  ask("GET", "/v1/responses/" + id, "", "ann");
  EXPECT_EQ(world_.answer().status, 200);
}

TEST_F(StoredRoutesTest, what_is_deleted_is_gone) {
  const std::string id = create(R"({"input": "Hi"})");
  EXPECT_EQ(to_json(ask("DELETE", "/v1/responses/" + id)),
            R"({"id":")" + id + R"(","object":"response","deleted":true})");
  ask("DELETE", "/v1/responses/" + id);
  EXPECT_EQ(world_.answer().status, 404);
}

TEST_F(StoredRoutesTest, nothing_of_a_query_is_passed_over) {
  const std::string id = create(R"({"input": "Hi"})");
  const std::string path = "/v1/responses/" + id;
  for (const auto& [method, target, param] :
       {std::tuple("GET", path + "?include=message.output_text.logprobs", "include"),
        std::tuple("GET", path + "?include_obfuscation=true", "include_obfuscation"),
        std::tuple("GET", path + "/input_items?include=x", "include"),
        std::tuple("DELETE", path + "?force=true", "force")}) {
    const json::value error = ask(method, target);
    EXPECT_EQ(world_.answer().status, 400) << target;
    EXPECT_EQ(at(error, "error.param"), json::value(param)) << target;
  }
  ask("GET", path + "?include_obfuscation=false");
  EXPECT_EQ(world_.answer().status, 200);
}

TEST_F(StoredRoutesTest, a_previous_response_that_is_not_there_has_a_code) {
  const json::value error =
      ask("POST", "/v1/responses", R"({"input": "a", "previous_response_id": "resp_x"})");
  EXPECT_EQ(world_.answer().status, 400);
  EXPECT_EQ(at(error, "error.code"), json::value("previous_response_not_found"));
  EXPECT_EQ(at(error, "error.param"), json::value("previous_response_id"));
}

TEST_F(StoredRoutesTest, conversations_grow) {
  const std::string one = create(R"({"input": "One"})");
  const std::string two = create(R"({"input": "Two", "previous_response_id": ")" + one + "\"}");
  create(R"({"input": "Three", "previous_response_id": ")" + two + "\"}");
  const auto prompt = test::bundled_engine().tokenizer()->decode(
      world_.service.requests().back().generate.prompt, {.skip_special = false});
  EXPECT_EQ(
      prompt,
      "<|im_start|>user\nOne<|im_end|>\n<|im_start|>assistant\nHello there.<|im_end|>\n<|im_start|>user\nTwo"
      "<|im_end|>\n<|im_start|>assistant\nHello there.<|im_end|>\n<|im_start|>user\nThree<|im_end|>\n"
      "<|im_start|>assistant\n");
  EXPECT_EQ(world_.answer().status, 200);
}

TEST_F(StoredRoutesTest, calls_are_answered_in_the_next_request) {
  world_.service.play(
      test::say(*test::bundled_engine().tokenizer(),
                {{.text = "<tool_call>\n{\"name\": \"get\", \"arguments\": {}}\n</tool_call>"}}));
  const json::value first =
      ask("POST", "/v1/responses", R"({"input": "Hi", "tools": [{"type": "function", "name": "get"}]})");
  const std::string call(at(first, "output[0].call_id").as_string());
  const std::string id(at(first, "id").as_string());
  ask("POST", "/v1/responses",
      R"({"input": [{"type": "function_call_output", "call_id": ")" + call +
          R"(", "output": "cold"}], "previous_response_id": ")" + id + "\"}");
  EXPECT_EQ(world_.answer().status, 200) << world_.answer().body;
  const auto prompt = test::bundled_engine().tokenizer()->decode(
      world_.service.requests().back().generate.prompt, {.skip_special = false});
  EXPECT_NE(prompt.find("<tool_response>\ncold\n</tool_response>"), std::string::npos) << prompt;
}

TEST_F(StoredRoutesTest, input_items_are_listed_in_pages) {
  const std::string one = create(R"({"input": "One"})");
  const std::string two = create(R"({"input": "Two", "previous_response_id": ")" + one + "\"}");
  const std::string path = "/v1/responses/" + two + "/input_items";
  const json::value all = ask("GET", path);
  EXPECT_EQ(at(all, "object"), json::value("list"));
  EXPECT_EQ(at(all, "data").as_array().size(), 3U);
  EXPECT_EQ(at(all, "data[0].content[0].text"), json::value("Two")) << "the newest first";
  EXPECT_EQ(at(all, "data[1].content[0].text"), json::value("Hello there."));
  EXPECT_EQ(at(all, "first_id"), at(all, "data[0].id"));
  EXPECT_EQ(at(all, "last_id"), at(all, "data[2].id"));
  EXPECT_EQ(at(all, "has_more"), json::value(false));
  const json::value page = ask("GET", path + "?order=asc&limit=2");
  EXPECT_EQ(at(page, "data").as_array().size(), 2U);
  EXPECT_EQ(at(page, "data[0].content[0].text"), json::value("One"));
  EXPECT_EQ(at(page, "has_more"), json::value(true));
  const json::value rest =
      ask("GET", path + "?order=asc&after=" + std::string(at(page, "last_id").as_string()));
  EXPECT_EQ(at(rest, "data").as_array().size(), 1U);
  EXPECT_EQ(at(rest, "data[0].content[0].text"), json::value("Two"));
  for (const char* query : {"?limit=0", "?limit=101", "?limit=x", "?order=up", "?after=msg_none"}) {
    ask("GET", path + query);
    EXPECT_EQ(world_.answer().status, 400) << query;
  }
}

TEST_F(StoredRoutesTest, streams_of_stored_responses_are_refused_by_name) {
  const std::string id = create(R"({"input": "Hi"})");
  EXPECT_EQ(at(ask("GET", "/v1/responses/" + id + "?stream=true"), "error.param"), json::value("stream"));
  EXPECT_EQ(at(ask("GET", "/v1/responses/" + id + "?starting_after=3"), "error.param"),
            json::value("stream"));
}

TEST_F(StoredRoutesTest, tokens_are_counted_without_generating) {
  EXPECT_EQ(to_json(ask("POST", "/v1/responses/input_tokens", R"({"input": "Hi"})")),
            R"({"object":"response.input_tokens","input_tokens":9})");
  EXPECT_TRUE(world_.service.requests().empty());
}

}  // namespace
}  // namespace kvern::server::responses
