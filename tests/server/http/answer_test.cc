// The part of a connection that many threads touch, without sockets.
#include "server/http/answer.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace kvern::server {
namespace {

class AnswerTest : public testing::Test {
 protected:
  std::shared_ptr<Answer> make(AnswerOptions options = {}) {
    return std::make_shared<Answer>(HttpRequest{.method = "GET"}, std::move(options), clock_, queued_);
  }
  static std::string joined(const Answer::Output& output) {
    std::string all;
    for (const std::string& piece : output.pieces) all += piece;
    return all;
  }

  ManualClock clock_{std::chrono::system_clock::time_point(std::chrono::seconds(784111777))};
  std::shared_ptr<std::atomic<int64_t>> queued_ = std::make_shared<std::atomic<int64_t>>(0);
};

TEST_F(AnswerTest, AResponseIsOneWholeMessage) {
  const auto answer = make({.extra_headers = {{"x-request-id", "1"}}});
  answer->respond({.content_type = "text/plain", .body = "hello"});
  const Answer::Output output = answer->take();
  EXPECT_TRUE(output.ended);
  EXPECT_EQ(joined(output),
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\n"
            "Content-Length: 5\r\nx-request-id: 1\r\nConnection: keep-alive\r\n\r\nhello");
  answer->sent(joined(output).size());
  EXPECT_TRUE(answer->report().whole);
  EXPECT_EQ(answer->report().status, 200);
  EXPECT_EQ(*queued_, 0);
}

TEST_F(AnswerTest, AStreamIsChunksInOrder) {
  const auto answer = make();
  answer->start_stream({.content_type = "text/plain"});
  answer->take();
  answer->write("one");
  answer->write("");
  answer->write("two");
  EXPECT_FALSE(answer->take().ended);
  answer->end();
  const Answer::Output output = answer->take();
  EXPECT_TRUE(output.ended);
  EXPECT_EQ(joined(output), "0\r\n\r\n");
}

TEST_F(AnswerTest, SmallPiecesAreJoined) {
  const auto answer = make();
  answer->start_stream({});
  answer->take();
  for (int i = 0; i < 100; ++i) answer->write("x");
  EXPECT_EQ(answer->take().pieces.size(), 1U);
}

TEST_F(AnswerTest, TellsTheConnectionThatThereIsSomething) {
  const auto answer = make();
  int woken = 0;
  answer->attach([&] { ++woken; });
  answer->start_stream({});
  answer->write("x");
  EXPECT_EQ(woken, 2);
  answer->close();
  answer->write("y");
  EXPECT_EQ(woken, 2);
}

TEST_F(AnswerTest, BehindTheLimitItIsCut) {
  const auto answer = make({.max_queued_bytes = 1000});
  answer->start_stream({});
  int closed = 0;
  answer->on_close([&] { ++closed; });
  for (int i = 0; i < 20; ++i) answer->write(std::string(100, 'x'));
  EXPECT_TRUE(answer->is_cut());
  EXPECT_LE(*queued_, 1200);
  EXPECT_EQ(closed, 0) << "a maker must not be called back inside its own write";
  answer->close();
  answer->close();
  EXPECT_EQ(closed, 1);
}

TEST_F(AnswerTest, AMakerMayWaitUntilLittleIsQueued) {
  const auto answer = make({.max_queued_bytes = 1000});
  EXPECT_EQ(answer->wait_for_room(), 0U);  // nothing is streamed
  answer->start_stream({});
  answer->sent(answer->take().pieces.front().size());
  EXPECT_EQ(answer->wait_for_room(), 500U);
  // A whole file goes through, however slowly it is read.
  std::thread maker([&] {
    for (size_t left = 100'000; left > 0;) {
      const size_t piece = std::min(left, answer->wait_for_room());
      ASSERT_GT(piece, 0U);
      answer->write(std::string(piece, 'x'));
      left -= piece;
    }
    answer->end();
  });
  for (bool ended = false; !ended;) {
    const Answer::Output output = answer->take();
    ended = output.ended;
    EXPECT_FALSE(output.cut);
    for (const std::string& piece : output.pieces) answer->sent(piece.size());
  }
  maker.join();
}

TEST_F(AnswerTest, AMakerThatWaitsHearsThatTheClientHasGone) {
  const auto answer = make({.max_queued_bytes = 100});
  answer->start_stream({});
  answer->write(std::string(60, 'x'));
  std::thread maker([&] { EXPECT_EQ(answer->wait_for_room(), 0U); });
  answer->close();
  maker.join();
}

TEST_F(AnswerTest, WhatIsTakenButNotSentCountsAsQueued) {
  const auto answer = make({.max_queued_bytes = 1000});
  answer->start_stream({});
  answer->write(std::string(900, 'x'));
  answer->take();
  answer->write(std::string(100, 'x'));
  EXPECT_TRUE(answer->is_cut());
}

TEST_F(AnswerTest, PingsOnlyWhenNothingWaits) {
  const auto answer = make();
  answer->start_stream({.idle_bytes = "p", .idle_after = std::chrono::milliseconds(5)});
  EXPECT_EQ(answer->idle_after(), std::chrono::milliseconds(5));
  answer->write_idle();
  const size_t head = joined(answer->take()).size();
  answer->sent(head);
  answer->write_idle();
  EXPECT_EQ(joined(answer->take()), "1\r\np\r\n");
  answer->end();
  EXPECT_EQ(answer->idle_after(), std::chrono::milliseconds(0));
}

TEST_F(AnswerTest, ForgettingTheExchangeIsA500OrACut) {
  const auto early = make();
  {
    const HttpExchange exchange(early);
  }
  EXPECT_TRUE(early->take().ended);
  EXPECT_EQ(early->report().status, 500);

  const auto late = make();
  {
    HttpExchange exchange(late);
    exchange.start_stream({});
  }
  EXPECT_TRUE(late->is_cut());

  const auto fine = make();
  {
    HttpExchange exchange(fine);
    exchange.respond({.status = 201});
  }
  EXPECT_EQ(fine->report().status, 201);
}

TEST_F(AnswerTest, CallbacksAreDroppedWithTheEnd) {
  const auto answer = make();
  const auto owned = std::make_shared<int>(1);
  answer->on_close([owned] { ADD_FAILURE() << "the answer ended"; });
  EXPECT_EQ(owned.use_count(), 2);
  answer->respond({});
  answer->take();
  EXPECT_EQ(owned.use_count(), 1);
  answer->on_close([] { ADD_FAILURE() << "it ended before"; });
  answer->close();
}

TEST_F(AnswerTest, ManyMakersAndOneConnection) {
  const auto answer = make({.http_1_0 = true});
  answer->start_stream({});
  const size_t head = joined(answer->take()).size();
  answer->sent(head);
  std::vector<std::thread> makers;
  for (int i = 0; i < 4; ++i) {
    makers.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) answer->write("12345");
    });
  }
  size_t bytes = 0;
  while (bytes < 4 * 1000 * 5) {
    const size_t taken = joined(answer->take()).size();
    answer->sent(taken);
    bytes += taken;
  }
  for (std::thread& maker : makers) maker.join();
  EXPECT_EQ(bytes, 20'000U);
  EXPECT_EQ(*queued_, 0);
}

}  // namespace
}  // namespace kvern::server
