// Calls to servers that are well, slow, gone, or no Redis at all. Nothing here waits longer than its deadline
// and nothing depends on how long that takes: servers that hang never answer.
#include "store/remote/redis_client.h"

#include <gtest/gtest.h>

#include "store/remote/servers.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

using test::answering;
using test::FakeServer;
using test::MemoryLog;

struct Client : testing::Test {
  ManualClock clock{std::chrono::system_clock::time_point()};
  MemoryLog log;

  std::unique_ptr<RedisClient> to(const RedisUrl& url, int milliseconds = 60'000) {
    return std::make_unique<RedisClient>(
        RedisClientOptions{.url = url, .timeout = std::chrono::milliseconds(milliseconds)}, clock, log);
  }
  Result<std::vector<RedisReply>> ping(RedisClient& client) {
    const RedisCommand command{"PING"};
    return client.call({.commands = {&command, 1}});
  }
};

TEST_F(Client, KeepsItsConnection) {
  FakeServer server(answering("+PONG\r\n"));
  const auto client = to(server.url());
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto replies, ping(*client));
    EXPECT_EQ(replies[0].text, "PONG");
  }
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(client->failures(), 0U);
}

TEST_F(Client, ConnectsAgainWhenTheServerClosedAKeptConnection) {
  // Each connection is good for one answer.
  FakeServer server([](FakeServer& fake, int fd) {
    char input[256];
    if (fake.wait(fd) && ::recv(fd, input, sizeof input, 0) > 0) ::send(fd, "+PONG\r\n", 7, MSG_NOSIGNAL);
  });
  const auto client = to(server.url());
  for (int i = 0; i < 4; ++i) EXPECT_OK(ping(*client));
  EXPECT_EQ(client->failures(), 0U);
}

TEST_F(Client, GivesUpOnAServerThatHangsResetsOrSendsGarbage) {
  const std::pair<FakeServer::Serve, const char*> servers[] = {
      {test::hang, "in time"},
      {test::close_at_once, ""},
      {answering("HTTP/1.1 400 Bad Request\r\n\r\n"), "does not speak as Redis does"},
      {answering("*1000000000\r\n"), "does not speak as Redis does"},
      {answering("$500000000\r\nnever"), "in time"},
  };
  for (const auto& [serve, part] : servers) {
    FakeServer server(serve);
    MemoryLog own_log;
    RedisClient client({.url = server.url(), .timeout = std::chrono::milliseconds(30)}, clock, own_log);
    const auto first = ping(client);
    ASSERT_FALSE(first.has_value());
    EXPECT_NE(first.error().to_string().find(part), std::string::npos) << first.error().to_string();
    EXPECT_FALSE(ping(client).has_value());
    EXPECT_FALSE(client.may_call());
    const int connections = server.connections();
    EXPECT_ERROR(ping(client), kIo, "left alone");
    EXPECT_EQ(server.connections(), connections);
    EXPECT_EQ(client.failures(), 2U);
    EXPECT_NE(own_log.text().find("left alone for a while"), std::string::npos);
  }
}

TEST_F(Client, TriesAgainLaterAndSaysSo) {
  const kvern::test::TemporaryDirectory folder;
  const auto client = to(test::socket_url(folder.file("nobody")));
  EXPECT_ERROR(ping(*client), kIo, "cannot connect");
  EXPECT_FALSE(ping(*client).has_value());
  EXPECT_FALSE(client->may_call());
  clock.advance(std::chrono::seconds(60));
  EXPECT_TRUE(client->may_call());
  EXPECT_ERROR(ping(*client), kIo, "cannot connect");
  EXPECT_FALSE(client->may_call());
  EXPECT_EQ(client->failures(), 3U);
}

TEST_F(Client, FindsNoHostThatDoesNotExist) {
  RedisUrl url;
  url.host = "no-such-host.invalid";
  const auto client = to(url);
  EXPECT_ERROR(ping(*client), kIo, "no-such-host.invalid");
}

TEST_F(Client, LogsInChoosesItsDatabaseAndIsRefused) {
  if (!test::RealRedis::is_installed()) GTEST_SKIP() << "redis-server is not installed (tools/setup.sh test)";
  const test::RealRedis server({"--requirepass", "secret"});
  ASSERT_OK_AND_ASSIGN(const auto refused, ping(*to(server.url())));
  EXPECT_ERROR(check_reply(refused[0], RedisReply::Type::kText, 0), kIo, "NOAUTH");
  RedisUrl url = server.url();
  url.password = "wrong";
  EXPECT_ERROR(ping(*to(url)), kIo, "refuses this user, password or database");
  url.password = "secret";
  url.user = "default";
  url.database = 3;
  ASSERT_OK_AND_ASSIGN(const auto replies, ping(*to(url)));
  EXPECT_EQ(replies[0].text, "PONG");
  url.database = 99;
  EXPECT_ERROR(ping(*to(url)), kIo, "out of range");
}

std::string text_of(const std::string& path) { return *read_file(*make_posix_files(), path, 1 << 20); }

TEST_F(Client, SpeaksTlsWithWhomItTrusts) {
  if (!test::RealRedis::is_installed()) GTEST_SKIP() << "redis-server is not installed (tools/setup.sh test)";
  const kvern::test::TemporaryDirectory folder;
  const std::string make =
      "openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=localhost -addext "
      "subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout " +
      folder.file("key") + " -out " + folder.file("cert") + " 2>/dev/null";
  if (std::system(make.c_str()) != 0) GTEST_SKIP() << "openssl is not installed";
  const auto port = static_cast<uint16_t>(20000 + ::getpid() % 20000);
  const test::RealRedis server({"--tls-port", std::to_string(port), "--tls-cert-file", folder.file("cert"),
                                "--tls-key-file", folder.file("key"), "--tls-auth-clients", "no"});
  RedisUrl url;
  url.host = "127.0.0.1";
  url.port = port;
  url.tls = true;
  RedisClient trusting(
      {.url = url, .trust = {text_of(folder.file("cert"))}, .timeout = std::chrono::seconds(60)}, clock, log);
  const std::string large(size_t{3} << 20, 'x');
  const RedisCommand commands[] = {RedisCommand{"SET", "key"}.borrow(std::as_bytes(std::span(large))),
                                   RedisCommand{"GET", "key"}};
  ASSERT_OK_AND_ASSIGN(const auto replies, trusting.call({.commands = commands}));
  EXPECT_EQ(replies[1].text, large);
  RedisClient strict({.url = url, .timeout = std::chrono::seconds(60)}, clock, log);
  EXPECT_ERROR(ping(strict), kIo, "certificate");
  RedisClient wrong({.url = url, .trust = {"no certificate"}, .timeout = std::chrono::seconds(60)}, clock,
                    log);
  EXPECT_ERROR(ping(wrong), kInvalidArgument, "no certificate in it");
}

}  // namespace
}  // namespace kvern::store
