#include "server/protocol/openai/routes.h"

#include <gtest/gtest.h>

#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server::openai {
namespace {

using test::at;

class RoutesTest : public testing::Test {
 protected:
  RoutesTest() { add_routes(router_, world_.context); }
  /// Through the router, as the transport would.
  json::value ask(std::string_view method, const std::vector<std::string>& segments, std::string body = "") {
    const Router::Match match = router_.find(method, segments);
    if (match.route == nullptr) return nullptr;
    HttpRequest request{
        .method = std::string(method), .body = std::move(body), .path_values = match.path_values};
    match.route->handler(std::make_shared<LocalExchange>(
        std::move(request), [this](HttpResponse answer) { answer_ = std::move(answer); }));
    return parse_json(answer_.body, "answer").value_or(nullptr);
  }
  test::ProtocolWorld world_;
  Router router_;
  HttpResponse answer_;
};

TEST_F(RoutesTest, models_are_listed_and_shown) {
  const json::value list = ask("GET", {"v1", "models"});
  EXPECT_EQ(at(list, "object"), json::value("list"));
  EXPECT_EQ(at(list, "data[0].id"), json::value("kvern-tiny"));
  EXPECT_EQ(at(list, "data[0].object"), json::value("model"));
  EXPECT_EQ(at(list, "data[0].created"), json::value(1721900000));
  EXPECT_EQ(at(list, "data[1].id"), json::value("tiny/alias"));
  EXPECT_EQ(at(ask("GET", {"v1", "models", "kvern-tiny"}), "id"), json::value("kvern-tiny"));
  EXPECT_EQ(at(ask("GET", {"v1", "models", "tiny", "alias"}), "id"), json::value("tiny/alias"));
  const json::value error = ask("GET", {"v1", "models", "gpt-4"});
  EXPECT_EQ(answer_.status, 404);
  EXPECT_EQ(at(error, "error.code"), json::value("model_not_found"));
}

TEST_F(RoutesTest, both_apis_answer) {
  EXPECT_EQ(
      at(ask("POST", {"v1", "chat", "completions"}, R"({"messages": [{"role": "user", "content": "Hi"}]})"),
         "choices[0].message.content"),
      json::value("Hello there."));
  EXPECT_EQ(at(ask("POST", {"v1", "completions"}, R"({"prompt": "Hi"})"), "choices[0].text"),
            json::value("Hello there."));
}

TEST_F(RoutesTest, another_model_is_not_found) {
  const json::value error = ask("POST", {"v1", "completions"}, R"({"prompt": "Hi", "model": "gpt-4"})");
  EXPECT_EQ(answer_.status, 404);
  EXPECT_EQ(at(error, "error.param"), json::value("model"));
  EXPECT_EQ(at(error, "error.code"), json::value("model_not_found"));
}

TEST_F(RoutesTest, what_the_service_refuses_is_told) {
  world_.service.refuse(
      Error{.code = ErrorCode::kExhausted, .message = "full", .where = "queue", .retryable = true});
  for (const char* path : {"chat", ""}) {
    SCOPED_TRACE(path);
    if (*path != 0)
      ask("POST", {"v1", "chat", "completions"},
          R"({"messages": [{"role": "user", "content": "Hi"}], "stream": true})");
    else
      ask("POST", {"v1", "completions"}, R"({"prompt": "Hi", "stream": true})");
    EXPECT_EQ(answer_.status, 429);
    EXPECT_EQ(answer_.content_type, "application/json") << "a stream that never began is no stream";
  }
}

TEST_F(RoutesTest, a_model_that_cannot_chat_says_so) {
  world_.context.chat = fail(ErrorCode::kInvalidArgument, "this model has no chat template");
  const json::value error =
      ask("POST", {"v1", "chat", "completions"}, R"({"messages": [{"role": "user", "content": "Hi"}]})");
  EXPECT_EQ(answer_.status, 400);
  EXPECT_NE(at(error, "error.message").as_string().find("no chat template"), std::string::npos);
}

}  // namespace
}  // namespace kvern::server::openai
