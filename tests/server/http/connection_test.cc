// What happens on one connection, over real sockets.
#include <atomic>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/json.h"
#include "server/http/sse.h"
#include "server/http/test_server.h"

namespace kvern::test {
namespace {

using server::Exchange;
using ExchangePtr = std::shared_ptr<Exchange>;
using std::chrono::milliseconds;

class ConnectionTest : public HttpServerTest {};

std::string message_of(const RawResponse& response) {
  const auto value = parse_json(response.body, "body");
  if (!value) return "no JSON: " + response.body;
  return std::string(value->at("error").at("message").as_string());
}

TEST_F(ConnectionTest, RequestsFollowEachOtherOnOneConnection) {
  route_text("/a", "first");
  route_echo("/b");
  start();
  RawClient client = connect();
  client.send(get("/a"));
  const RawResponse first = client.read_response();
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.body, "first");
  EXPECT_EQ(first.header("Connection"), "keep-alive");
  EXPECT_EQ(first.header("Content-Type"), "text/plain");
  EXPECT_TRUE(first.header("Date"));
  client.send(post("/b", "second"));
  EXPECT_EQ(client.read_response().body, "second");
}

TEST_F(ConnectionTest, PipelinedRequestsAreAnsweredInOrder) {
  std::atomic<int> at_once{0};
  std::atomic<int> most_at_once{0};
  route("POST", "/n/{number}", [&](ExchangePtr exchange) {
    most_at_once = std::max<int>(most_at_once, ++at_once);
    std::string body = exchange->request().path_values[0] + exchange->request().body;
    --at_once;  // before the answer: the next request may begin with it
    exchange->respond({.body = std::move(body)});
  });
  start();
  std::string all;
  for (int i = 0; i < 200; ++i) all += post("/n/" + std::to_string(i), "x" + std::to_string(i * 7));
  RawClient client = connect();
  client.send(all);
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(client.read_response().body, std::to_string(i) + "x" + std::to_string(i * 7));
  EXPECT_EQ(most_at_once, 1);
}

TEST_F(ConnectionTest, ARequestMayComeByteByByte) {
  route_echo("/echo");
  start();
  RawClient client = connect();
  for (const char c : post("/echo", "body")) client.send(std::string(1, c));
  EXPECT_EQ(client.read_response().body, "body");
}

TEST_F(ConnectionTest, ChunkedBodiesAreJoinedAndTrailersAreNotHeaders) {
  route("POST", "/echo", [](ExchangePtr exchange) {
    const auto& request = exchange->request();
    exchange->respond({.body = request.body + "|" + std::string(request.header("X-Late").value_or("none"))});
  });
  start();
  RawClient client = connect();
  client.send(
      "POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2;note=x\r\nde\r\n0\r\nX-Late: forged\r\n\r\n");
  EXPECT_EQ(client.read_response().body, "abcde|none");
  client.send(get("/nothing"));
  EXPECT_EQ(client.read_response().status, 404);
}

TEST_F(ConnectionTest, HeadHasTheHeadersOfGetAndNoBody) {
  route_text("/a", "twelve bytes");
  start();
  RawClient client = connect();
  client.send("HEAD /a HTTP/1.1\r\nHost: t\r\n\r\n" + get("/a"));
  const RawResponse head = client.read_response(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), "12");
  EXPECT_EQ(client.read_response().body, "twelve bytes");
}

TEST_F(ConnectionTest, OldClientsGetTheEndOfTheConnectionAsTheEnd) {
  route("GET", "/stream", [](ExchangePtr exchange) {
    exchange->start_stream({.content_type = "text/plain"});
    exchange->write("one ");
    exchange->write("two");
    exchange->end();
  });
  start();
  RawClient client = connect();
  client.send("GET /stream HTTP/1.0\r\n\r\n");
  const RawResponse response = client.read_response();
  EXPECT_FALSE(response.header("Transfer-Encoding"));
  EXPECT_EQ(response.header("Connection"), "close");
  EXPECT_EQ(response.body, "one two");
}

TEST_F(ConnectionTest, CloseIsHonoured) {
  route_text("/a", "x");
  start();
  RawClient client = connect();
  client.send(get("/a", "Connection: close\r\n"));
  const RawResponse response = client.read_response();
  EXPECT_EQ(response.header("Connection"), "close");
  EXPECT_TRUE(client.at_end());
}

TEST_F(ConnectionTest, AClientThatAsksMayContinue) {
  route_echo("/echo");
  start();
  RawClient client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.read_response().status, 100);
  client.send("body");
  EXPECT_EQ(client.read_response().body, "body");
}

TEST_F(ConnectionTest, AnAnnouncedBodyThatIsTooLongIsRefusedBeforeItComes) {
  options.limits.body_bytes = 1000;
  route_echo("/echo");
  route_echo("/small", {.max_body_bytes = 10});
  start();
  RawClient client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n");
  const RawResponse response = client.read_response();
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(message_of(response), "The body is longer than 1000 bytes.");
  EXPECT_TRUE(client.at_end());

  RawClient other = connect();
  other.send("POST /small HTTP/1.1\r\nHost: t\r\nContent-Length: 11\r\n\r\n");
  EXPECT_EQ(other.read_response().status, 413);
}

TEST_F(ConnectionTest, AChunkedBodyThatIsTooLongIsCutAtTheLimit) {
  options.limits.body_bytes = 1000;
  route_echo("/echo");
  start();
  RawClient client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string piece = "190\r\n" + std::string(400, 'x') + "\r\n";
  for (int i = 0; i < 3; ++i) client.send(piece);
  EXPECT_EQ(client.read_response().status, 413);
  EXPECT_TRUE(client.at_end());
}

TEST_F(ConnectionTest, AConnectionStaysWhenARefusedBodyIsThere) {
  route_text("/a", "x");
  start();
  RawClient client = connect();
  client.send(post("/nowhere", "some text") + get("/a"));
  EXPECT_EQ(client.read_response().status, 404);
  EXPECT_EQ(client.read_response().body, "x");
}

TEST_F(ConnectionTest, RequestIdsComeBackOrAreMade) {
  route_text("/a", "x");
  start();
  RawClient client = connect();
  client.send(get("/a", "X-Request-Id: abc-1\r\n"));
  EXPECT_EQ(client.read_response().header("x-request-id"), "abc-1");
  client.send(get("/a", "X-Request-Id: with space\r\n"));
  const auto made = client.read_response().header("x-request-id");
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->starts_with("req-"));
  client.send(get("/a"));
  EXPECT_NE(client.read_response().header("x-request-id"), made);
  EXPECT_EQ(application.record(0).id, "abc-1");
}

TEST_F(ConnectionTest, AHandlerThatThrowsIsA500AndTheNextRequestWorks) {
  route("GET", "/bad", [](ExchangePtr) { throw std::runtime_error("oops"); });
  route("GET", "/forgets", [](ExchangePtr) {});
  route_text("/a", "x");
  start();
  RawClient client = connect();
  client.send(get("/bad"));
  EXPECT_EQ(client.read_response().status, 500);
  client.send(get("/forgets"));
  EXPECT_EQ(client.read_response().status, 500);
  client.send(get("/a"));
  EXPECT_EQ(client.read_response().body, "x");
}

TEST_F(ConnectionTest, AStreamThatItsMakerForgetsIsCutAndNotEnded) {
  route("GET", "/cut", [](ExchangePtr exchange) {
    exchange->start_stream({.content_type = "text/plain"});
    exchange->write("half");
  });
  start();
  RawClient client = connect();
  client.send(get("/cut"));
  const std::string all = client.read_until("never");
  EXPECT_EQ(all.find("0\r\n\r\n"), std::string::npos) << all;
  EXPECT_FALSE(application.record(0).answer.whole);
}

// Streams.

TEST_F(ConnectionTest, TheHeadOfAStreamIsSentBeforeAnythingElseIs) {
  ExchangePtr held;
  Signal started;
  route("GET", "/events", [&](ExchangePtr exchange) {
    exchange->start_stream(server::sse_head());
    held = std::move(exchange);
    started.set();
  });
  start();
  RawClient client = connect();
  client.send(get("/events"));
  EXPECT_NE(client.read_until("\r\n\r\n").find("text/event-stream"), std::string::npos);
  ASSERT_TRUE(started.wait());
  held->write(server::sse_event("{}"));
  EXPECT_EQ(client.read_chunk(), "data: {}\n\n");
  held->end();
  EXPECT_EQ(client.read_chunk(), "");
  client.send(get("/nothing"));
  EXPECT_EQ(client.read_response().status, 404);
  held.reset();
}

TEST_F(ConnectionTest, AStreamThatHasNothingToSayPings) {
  ExchangePtr held;
  Signal started;
  route("GET", "/events", [&](ExchangePtr exchange) {
    exchange->start_stream(server::sse_head(milliseconds(5)));
    held = std::move(exchange);
    started.set();
  });
  start();
  RawClient client = connect();
  client.send(get("/events"));
  client.read_until("\r\n\r\n");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.read_chunk(), ": ping\n\n");
  ASSERT_TRUE(started.wait());
  held->end();
  std::string rest = client.read_until("0\r\n\r\n");
  EXPECT_TRUE(rest.ends_with("0\r\n\r\n"));
  held.reset();
}

class GoneClientTest : public ConnectionTest {
 protected:
  /// A stream that is open and silent, whose end is signalled.
  void start_silent() {
    route("GET", "/silent", [this](ExchangePtr exchange) {
      exchange->on_close([this] { gone_.set(); });
      exchange->start_stream(server::sse_head());
      held_ = std::move(exchange);
      started_.set();
    });
    // As a generation that is not streamed: nothing at all is sent until the end.
    route("GET", "/waits", [this](ExchangePtr exchange) {
      exchange->on_close([this] { gone_.set(); });
      held_ = std::move(exchange);
      started_.set();
    });
    start();
  }
  void TearDown() override {
    http.reset();
    held_.reset();
  }

  Signal started_;
  Signal gone_;
  ExchangePtr held_;
};

TEST_F(GoneClientTest, AClosedConnectionIsNoticedWhileNothingIsWritten) {
  start_silent();
  RawClient client = connect();
  client.send(get("/silent"));
  ASSERT_TRUE(started_.wait());
  client.close();
  EXPECT_TRUE(gone_.wait());
  held_->write("dropped");
  held_->end();
  EXPECT_FALSE(application.record(0).answer.whole);
}

TEST_F(GoneClientTest, AResetIsNoticedBeforeAnyAnswer) {
  start_silent();
  RawClient client = connect();
  client.send(get("/waits"));
  ASSERT_TRUE(started_.wait());
  client.reset();
  EXPECT_TRUE(gone_.wait());
  EXPECT_EQ(application.record(0).answer.status, 0);
}

TEST_F(GoneClientTest, AHalfCloseCountsAsGone) {
  start_silent();
  RawClient client = connect();
  client.send(get("/waits"));
  ASSERT_TRUE(started_.wait());
  client.finish_writing();
  EXPECT_TRUE(gone_.wait());
  EXPECT_TRUE(client.at_end());
}

TEST_F(GoneClientTest, AClientThatIsGoneAlreadyIsToldAtOnce) {
  start_silent();
  RawClient client = connect();
  client.send(get("/waits"));
  ASSERT_TRUE(started_.wait());
  client.close();
  ASSERT_TRUE(gone_.wait());
  bool told = false;
  held_->on_close([&] { told = true; });
  EXPECT_TRUE(told);
}

TEST_F(GoneClientTest, ManyMayWantToKnow) {
  Signal second;
  start_silent();
  RawClient client = connect();
  client.send(get("/silent"));
  ASSERT_TRUE(started_.wait());
  held_->on_close([&] { second.set(); });
  client.close();
  EXPECT_TRUE(gone_.wait());
  EXPECT_TRUE(second.wait());
}

TEST_F(GoneClientTest, NobodyIsToldOfTheEndBehindAWholeAnswer) {
  Signal ended;
  route("GET", "/quick", [&](ExchangePtr exchange) {
    exchange->on_close([this] { gone_.set(); });
    exchange->respond({.body = "x"});
    ended.set();
  });
  start();
  RawClient client = connect();
  client.send(get("/quick"));
  EXPECT_EQ(client.read_response().body, "x");
  client.close();
  EXPECT_TRUE(application.record(0).answer.whole);
  ASSERT_TRUE(http->wait_until_idle(std::chrono::seconds(20)));
  EXPECT_FALSE(gone_.is_set());
}

TEST_F(GoneClientTest, ASlowReaderFillsItsOwnQueueAndIsCutAtTheLimit) {
  options.limits.queued_bytes = size_t{256} << 10;
  route_text("/a", "still here");
  start_silent();
  RawClient slow = connect();
  slow.keep_small_buffer();
  slow.send(get("/silent"));
  ASSERT_TRUE(started_.wait());
  // Never waits: the client reads nothing. The kernel takes some megabytes before the queue grows.
  const std::string piece(64 << 10, 'x');
  for (int i = 0; i < 1000 && !gone_.is_set(); ++i) held_->write(piece);
  EXPECT_TRUE(gone_.wait());
  EXPECT_LE(http->stats().queued_bytes, static_cast<int64_t>(options.limits.queued_bytes + piece.size()));
  RawClient other = connect();
  other.send(get("/a"));
  EXPECT_EQ(other.read_response().body, "still here");
}

// Deadlines: the tests wait for what the server does, never for a time.

TEST_F(ConnectionTest, HeadersThatComeTooSlowlyGetA408) {
  options.limits.header_timeout = milliseconds(20);
  start();
  RawClient client = connect();
  client.send("GET /a HTTP/1.1\r\nHos");
  EXPECT_EQ(client.read_response().status, 408);
  EXPECT_TRUE(client.at_end());
}

TEST_F(ConnectionTest, ABodyThatDoesNotComeGetsA408) {
  options.limits.body_timeout = milliseconds(20);
  route_echo("/echo");
  start();
  RawClient client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(client.read_response().status, 408);
  EXPECT_TRUE(client.at_end());
}

TEST_F(ConnectionTest, IdleConnectionsAreClosed) {
  options.limits.idle_timeout = milliseconds(20);
  route_text("/a", "x");
  start();
  RawClient fresh = connect();
  EXPECT_TRUE(fresh.at_end());
  RawClient used = connect();
  used.send(get("/a"));
  EXPECT_EQ(used.read_response().status, 200);
  EXPECT_TRUE(used.at_end());
}

TEST_F(GoneClientTest, AReaderThatTakesNothingIsClosed) {
  options.limits.write_timeout = milliseconds(50);
  start_silent();
  RawClient client = connect();
  client.keep_small_buffer();
  client.send(get("/silent"));
  ASSERT_TRUE(started_.wait());
  held_->write(std::string(size_t{7} << 20, 'x'));
  EXPECT_TRUE(gone_.wait());
}

TEST_F(GoneClientTest, AnAnswerMayTakeLongerThanAllTimeouts) {
  options.limits.header_timeout = options.limits.body_timeout = options.limits.idle_timeout =
      milliseconds(10);
  start_silent();
  RawClient waiting = connect();
  waiting.send(get("/waits"));
  ASSERT_TRUE(started_.wait());
  // By the time that another connection was closed for being idle, the first would have been, too.
  RawClient idle = connect();
  EXPECT_TRUE(idle.at_end());
  EXPECT_FALSE(gone_.is_set());
  held_->respond({.body = "late"});
  EXPECT_EQ(waiting.read_response().body, "late");
}

// Requests that are none. After each the server still works.

TEST_F(ConnectionTest, MalformedRequestsGetTheirStatusAndHarmNobody) {
  options.limits.header_bytes = 4096;
  options.limits.target_bytes = 256;
  route_text("/a", "x");
  start();
  const std::string long_target = "GET /" + std::string(300, 'a') + " HTTP/1.1\r\nHost: t\r\n\r\n";
  const std::string endless_target = "GET /" + std::string(8000, 'a');
  const std::pair<std::string, int> cases[] = {
      {"nonsense\r\n\r\n", 400},
      {std::string("\0\0\0\0\r\n\r\n", 8), 400},
      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},  // TLS to a plain port
      {"GET /a HTTP/2.0\r\nHost: t\r\n\r\n", 505},
      {"GET /a HTTP/1.1\r\n\r\n", 400},
      {"GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"GET /a HTTP/1.1\r\nHost: t\r\nbad header\r\n\r\n", 400},
      {"GET /%zz HTTP/1.1\r\nHost: t\r\n\r\n", 400},
      {"GET /%00 HTTP/1.1\r\nHost: t\r\n\r\n", 400},
      {"GET a HTTP/1.1\r\nHost: t\r\n\r\n", 400},
      {long_target, 414},
      {endless_target, 414},
      {"GET /a HTTP/1.1\r\nHost: t\r\nX: " + std::string(5000, 'a') + "\r\n\r\n", 431},
      {"POST /a HTTP/1.1\r\nHost: t\r\nContent-Length: x\r\n\r\n", 400},
      {"POST /a HTTP/1.1\r\nHost: t\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST /a HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400},
      {"POST /a HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400},
      {"POST /a HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc", 400},
      {"POST /a HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"POST /a HTTP/1.1\r\nHost: t\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", 415},
      {"POST /a HTTP/1.0\r\n\r\n", 411},
      {"GET /../../etc/passwd HTTP/1.1\r\nHost: t\r\n\r\n", 404},
      {"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: t\r\n\r\n", 404},
  };
  for (const auto& [bytes, status] : cases) {
    RawClient client = connect();
    client.send(bytes);
    const RawResponse response = client.read_response();
    EXPECT_EQ(response.status, status) << bytes.substr(0, 80);
    EXPECT_FALSE(message_of(response).empty());
    RawClient control = connect();
    control.send(get("/a"));
    ASSERT_EQ(control.read_response().body, "x") << bytes.substr(0, 80);
  }
}

}  // namespace
}  // namespace kvern::test
