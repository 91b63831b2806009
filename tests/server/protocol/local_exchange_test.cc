#include "server/protocol/local_exchange.h"

#include <optional>

#include <gtest/gtest.h>

namespace kvern::server {
namespace {

struct Scene {
  std::vector<HttpResponse> answers;
  std::shared_ptr<LocalExchange> exchange =
      std::make_shared<LocalExchange>(HttpRequest{.method = "POST", .path = "/x"},
                                      [this](HttpResponse answer) { answers.push_back(std::move(answer)); });
};

TEST(LocalExchange, gives_an_answer_once) {
  Scene scene;
  scene.exchange->respond({.status = 201, .body = "a"});
  scene.exchange->respond({.status = 202, .body = "b"});
  ASSERT_EQ(scene.answers.size(), 1U);
  EXPECT_EQ(scene.answers[0].status, 201);
  EXPECT_EQ(scene.answers[0].body, "a");
}

TEST(LocalExchange, joins_a_stream) {
  Scene scene;
  scene.exchange->start_stream({.content_type = "text/event-stream"});
  scene.exchange->write("a");
  scene.exchange->write("b");
  EXPECT_TRUE(scene.answers.empty());
  scene.exchange->end();
  scene.exchange->write("c");
  ASSERT_EQ(scene.answers.size(), 1U);
  EXPECT_EQ(scene.answers[0].status, 200);
  EXPECT_EQ(scene.answers[0].content_type, "text/event-stream");
  EXPECT_EQ(scene.answers[0].body, "ab");
}

TEST(LocalExchange, says_that_nobody_answered) {
  Scene scene;
  scene.exchange.reset();
  ASSERT_EQ(scene.answers.size(), 1U);
  EXPECT_EQ(scene.answers[0].status, 0);
}

TEST(LocalExchange, a_client_that_goes_is_told_to_who_asked) {
  Scene scene;
  int calls = 0;
  scene.exchange->on_close([&] { ++calls; });
  scene.exchange->start_stream({});
  scene.exchange->write("a");
  scene.exchange->close();
  scene.exchange->close();
  EXPECT_EQ(calls, 1);
  scene.exchange->on_close([&] { ++calls; });
  EXPECT_EQ(calls, 2) << "at once when it has gone";
  scene.exchange->write("b");
  ASSERT_EQ(scene.answers.size(), 1U);
  EXPECT_EQ(scene.answers[0].body, "a");
}

TEST(LocalExchange, after_the_answer_nobody_is_told) {
  Scene scene;
  int calls = 0;
  scene.exchange->on_close([&] { ++calls; });
  scene.exchange->respond({});
  scene.exchange->close();
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace kvern::server
