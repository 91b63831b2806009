// The reader without sockets: connection_test.cc has the table of malformed requests.
#include "server/http/request_reader.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace kvern::server {
namespace {

using State = RequestReader::State;

/// Gives all bytes in pieces, as a connection does; the state at the end.
State feed(RequestReader& reader, std::string_view bytes, size_t piece) {
  std::string inbox;
  while (!bytes.empty() && reader.state() != State::kFailed && reader.state() != State::kDone) {
    inbox += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (State before = State::kFailed; before != reader.state();) {
      before = reader.state();
      inbox.erase(0, reader.consume(inbox));
    }
  }
  return reader.state();
}

TEST(RequestReader, StopsBehindTheHead) {
  const HttpLimits limits;
  RequestReader reader(limits);
  const std::string text = "POST /a?b=c HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET";
  const size_t head = reader.consume(text);
  EXPECT_EQ(reader.state(), State::kBody);
  EXPECT_EQ(reader.request().method, "POST");
  EXPECT_EQ(reader.request().path, "/a");
  EXPECT_EQ(reader.request().query_value("b"), "c");
  EXPECT_EQ(reader.content_length(), 3U);
  EXPECT_TRUE(reader.keep_alive());
  EXPECT_EQ(head + reader.consume(std::string_view(text).substr(head)), text.size() - 3);
  EXPECT_EQ(reader.state(), State::kDone);
  EXPECT_EQ(reader.request().body, "abc");
}

TEST(RequestReader, TakesTheSameFromPiecesOfAnySize) {
  const std::string text =
      "PUT /x HTTP/1.1\r\nHost: h\r\nA: 1\r\nTransfer-Encoding: "
      "chunked\r\n\r\n4\r\nabcd\r\n10;e=f\r\n0123456789abcdef\r\n0\r\n\r\n";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    const HttpLimits limits;
    RequestReader reader(limits);
    ASSERT_EQ(feed(reader, text, piece), State::kDone) << piece;
    ASSERT_EQ(reader.request().body, "abcd0123456789abcdef") << piece;
    ASSERT_EQ(reader.request().headers.size(), 3U) << piece;
  }
}

TEST(RequestReader, ChunkExtensionsAndTrailersHaveALimit) {
  const std::string head = "PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& endless :
       {"5;" + std::string(100'000, 'e'), "0\r\n" + std::string(100'000, 't'), std::string(100'000, '0')}) {
    const HttpLimits limits;
    RequestReader reader(limits);
    EXPECT_EQ(feed(reader, head + endless, 1000), State::kFailed);
    EXPECT_EQ(reader.failure().status, 400);
  }
}

TEST(RequestReader, AnAnnouncedLengthTakesNoMemory) {
  const HttpLimits limits{.body_bytes = SIZE_MAX};
  RequestReader reader(limits);
  const std::string text = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000000\r\n\r\nabc";
  const size_t head = reader.consume(text);
  reader.consume(std::string_view(text).substr(head));
  EXPECT_EQ(reader.state(), State::kBody);
  EXPECT_LT(reader.request().body.capacity(), 10'000U);
}

TEST(RequestReader, AFewEmptyLinesBeforeARequestMeanNothing) {
  const HttpLimits limits;
  const std::string get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
  for (const size_t piece : {1U, 2U, 3U, 100U}) {
    RequestReader reader(limits);
    EXPECT_EQ(feed(reader, "\r\n\r\n" + get, piece), State::kDone) << piece;
    EXPECT_EQ(reader.request().path, "/a");
    RequestReader many(limits);
    EXPECT_EQ(feed(many, std::string(20, '\r') + get, piece), State::kFailed) << piece;
    EXPECT_EQ(many.failure().status, 400);
  }
  RequestReader reader(limits);
  EXPECT_EQ(reader.skip_empty_lines("\r"), 1U);
  EXPECT_EQ(reader.skip_empty_lines("\n" + get), 1U);
  EXPECT_FALSE(reader.begun());
}

TEST(RequestReader, TellsAnotherVersionFromWhatIsNoHttp) {
  const HttpLimits limits;
  const auto status = [&](const std::string& text) {
    RequestReader reader(limits);
    EXPECT_EQ(feed(reader, text + "\r\nHost: h\r\n\r\n", 1000), State::kFailed) << text;
    return reader.failure().status;
  };
  EXPECT_EQ(status("GET /a HTTP/2.0"), 505);
  EXPECT_EQ(status("GET /a HTTP/1.7"), 505);
  for (const char* text : {"GET /a", "GET /a HTP/1.1", "GET /a HTTP/x.y", "GET /a HTTP/1.10",
                           "GET /a http/1.1", "GET /a HTTP/", "\n"})
    EXPECT_EQ(status(text), 400) << text;
}

TEST(RequestReader, KnowsWhenAClientWantsToContinue) {
  const HttpLimits limits;
  RequestReader reader(limits);
  reader.consume("POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_TRUE(reader.expects_continue());
  RequestReader old(limits);
  old.consume("POST /a HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_FALSE(old.expects_continue());
  EXPECT_FALSE(old.keep_alive());
}

RC_GTEST_PROP(RequestReader, AnyBytesEndInAStateAndNeverTakeMoreThanThereIs,
              (const std::string& bytes, uint8_t piece)) {
  const HttpLimits limits;
  RequestReader reader(limits);
  feed(reader, bytes, piece + 1U);
  RC_ASSERT(reader.request().body.size() <= bytes.size());
}

}  // namespace
}  // namespace kvern::server
