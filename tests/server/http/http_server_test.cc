#include "server/http/http_server.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "server/http/test_server.h"
#include "support/result_matchers.h"

namespace kvern::test {
namespace {

using server::Exchange;
using server::HttpServer;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(HttpServerTest, ListensOnSeveralAddressesOfBothFamilies) {
  route_text("/a", "x");
  options.listen = {{.host = "127.0.0.1", .port = 0}, {.host = "::1", .port = 0}};
  start();
  const auto addresses = http->addresses();
  ASSERT_EQ(addresses.size(), 2U);
  for (const auto& address : addresses) {
    RawClient client(address.port, address.host);
    ASSERT_TRUE(client.connected()) << server::to_string(address);
    client.send(get("/a"));
    EXPECT_EQ(client.read_response().body, "x");
  }
}

TEST_F(HttpServerTest, SaysWhoHasTheAddressAndWhatToDo) {
  start();
  server::HttpServerOptions second = options;
  second.listen = http->addresses();
  const auto result =
      HttpServer::start(second, {.application = application, .clock = *clock, .log = null_log()});
  EXPECT_ERROR(result, kIo, "127.0.0.1:" + std::to_string(port()) + ": cannot listen");
  EXPECT_ERROR(result, kIo, "choose another --port");
  EXPECT_ERROR(server::check_http_options(second), kIo, "in use");
}

TEST_F(HttpServerTest, RefusesNamesThatAreNoAddresses) {
  options.listen = {{.host = "no.such.host.invalid", .port = 0}};
  EXPECT_ERROR(server::check_http_options(options), kInvalidArgument, "no.such.host.invalid");
  options.listen = {{.host = "192.0.2.1", .port = 0}};  // reserved for documents (RFC 5737)
  EXPECT_ERROR(server::check_http_options(options), kInvalidArgument, "choose another --host");
}

TEST_F(HttpServerTest, ConnectionsBeyondTheLimitAreToldAndOthersGoOn) {
  options.limits.connections = 2;
  route_text("/a", "x");
  start();
  RawClient first = connect();
  RawClient second = connect();
  for (RawClient* client : {&first, &second}) {
    client->send(get("/a"));
    ASSERT_EQ(client->read_response().status, 200);
  }
  RawClient third = connect();
  third.send(get("/a"));
  const RawResponse refused = third.read_response();
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.header("Retry-After"));
  EXPECT_TRUE(third.at_end());
  first.send(get("/a"));
  EXPECT_EQ(first.read_response().status, 200);
  EXPECT_EQ(http->stats().overloaded, 1U);
}

TEST_F(HttpServerTest, RequestsThatNoWorkerCanTakeAreRefused) {
  options.workers = 1;
  options.limits.waiting_requests = 1;
  Signal entered;
  Signal release;
  route("GET", "/slow", [&](std::shared_ptr<Exchange> exchange) {
    entered.set();
    release.wait();
    exchange->respond({.body = "done"});
  });
  start();
  RawClient working = connect();
  working.send(get("/slow"));
  ASSERT_TRUE(entered.wait());
  // One of the two waits, the other is one too many; which is which depends on the order of arrival.
  RawClient a = connect();
  a.send(get("/slow"));
  while (http->stats().waiting_handlers == 0) std::this_thread::yield();
  RawClient b = connect();
  b.send(get("/slow"));
  const RawResponse refused = b.read_response();
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.header("Retry-After"));
  release.set();
  EXPECT_EQ(working.read_response().body, "done");
  EXPECT_EQ(a.read_response().body, "done");
}

TEST_F(HttpServerTest, DrainsWhatRunsAndTakesNothingNew) {
  std::shared_ptr<Exchange> held;
  Signal started;
  route("GET", "/slow", [&](std::shared_ptr<Exchange> exchange) {
    exchange->start_stream({.content_type = "text/plain"});
    held = std::move(exchange);
    started.set();
  });
  start();
  RawClient idle = connect();
  RawClient busy = connect();
  busy.send(get("/slow"));
  ASSERT_TRUE(started.wait());
  const uint16_t where = port();
  http->stop_accepting();
  EXPECT_TRUE(idle.at_end());
  EXPECT_FALSE(http->wait_until_idle(milliseconds(1)));
  held->write("the end");
  held->end();
  held.reset();
  EXPECT_EQ(busy.read_response().body, "the end");
  EXPECT_TRUE(busy.at_end());
  busy.close();
  EXPECT_TRUE(http->wait_until_idle(seconds(20)));
  EXPECT_FALSE(RawClient(where).connected());
}

TEST_F(HttpServerTest, MayEndWhileAnswersAreMade) {
  std::shared_ptr<Exchange> held;
  Signal started;
  Signal gone;
  route("GET", "/slow", [&](std::shared_ptr<Exchange> exchange) {
    exchange->on_close([&] { gone.set(); });
    exchange->start_stream({.content_type = "text/plain"});
    held = std::move(exchange);
    started.set();
  });
  start();
  RawClient client = connect();
  client.send(get("/slow"));
  ASSERT_TRUE(started.wait());
  http.reset();
  EXPECT_TRUE(gone.wait());
  // Whoever makes the answer may be later than the server.
  held->write("nobody reads this");
  held->end();
  held.reset();
  EXPECT_EQ(client.read_until("never").find("nobody"), std::string::npos);
}

TEST_F(HttpServerTest, CountsEveryDescriptorBack) {
  route_text("/a", "x");
  start();
  // The last one reads an answer: then all are accepted.
  for (int round = 0; round < 51; ++round) {
    RawClient client = connect();
    client.send(round % 2 == 0 ? get("/a") : "GET /a HT");
    if (round % 2 == 0) {
      EXPECT_EQ(client.read_response().status, 200);
    }
    if (round % 3 == 0) client.reset();
  }
  EXPECT_TRUE(http->wait_until_idle(seconds(20)));
  EXPECT_EQ(http->stats().connections, 0);
  EXPECT_EQ(http->stats().requests, 0);
  EXPECT_EQ(http->stats().queued_bytes, 0);
  EXPECT_EQ(http->stats().accepted, 51U);
}

TEST_F(HttpServerTest, ManyThreadsMayWriteToManyClients) {
  options.io_threads = 2;
  options.workers = 4;
  route("GET", "/numbers", [](std::shared_ptr<Exchange> exchange) {
    std::thread([exchange] {
      exchange->start_stream({.content_type = "text/plain"});
      for (int i = 0; i < 300; ++i) exchange->write(std::to_string(i) + ",");
      exchange->end();
    }).detach();
  });
  start();
  std::string expected;
  for (int i = 0; i < 300; ++i) expected += std::to_string(i) + ",";
  std::vector<std::thread> clients;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      RawClient client = connect();
      for (int round = 0; round < 5; ++round) {
        client.send(get("/numbers"));
        if (client.read_response().body == expected) ++right;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 40);
}

}  // namespace
}  // namespace kvern::test
