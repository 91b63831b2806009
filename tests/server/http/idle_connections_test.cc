// A thousand connections that do nothing cost little and harm nobody.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "server/http/test_server.h"
#include "server/metrics/process_stats.h"

namespace kvern::test {
namespace {

constexpr size_t kConnections = 1000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCountsBytes = false;  // A sanitizer's own memory is several times that of the program.
#else
constexpr bool kCountsBytes = true;
#endif

double resident_bytes() {
  server::MetricsText out;
  server::write_process_stats(out);
  const std::string text = out.take();
  const std::string name = "\nprocess_resident_memory_bytes ";
  return std::strtod(text.c_str() + text.find(name) + name.size(), nullptr);
}

TEST_F(HttpServerTest, AThousandIdleConnectionsLeaveTheServerAnswering) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4 * kConnections);
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 2 * kConnections + 100) GTEST_SKIP() << "too few descriptors are allowed here";
  route_text("/a", "x");
  start();
  RawClient active = connect();
  const double before = resident_bytes();
  std::vector<RawClient> idle;
  idle.reserve(kConnections);
  for (size_t i = 0; i < kConnections; ++i) {
    idle.push_back(connect());
    ASSERT_TRUE(idle.back().connected()) << i;
    // Every second one has been used, every third has begun a request.
    if (i % 2 == 0) {
      idle.back().send(get("/a"));
      ASSERT_EQ(idle.back().read_response().status, 200) << i;
    }
    if (i % 3 == 0) idle.back().send("GET /a HTT");
    if (i % 100 == 0) {
      active.send(get("/a"));
      ASSERT_EQ(active.read_response().body, "x") << i;
    }
  }
  while (http->stats().connections < static_cast<int64_t>(kConnections + 1)) std::this_thread::yield();
  if (kCountsBytes) {
    EXPECT_LT((resident_bytes() - before) / kConnections, 64 << 10) << "bytes for each connection";
  }
  idle.clear();
  active.send(get("/a", "Connection: close\r\n"));
  EXPECT_EQ(active.read_response().body, "x");
  active.close();
  EXPECT_TRUE(http->wait_until_idle(std::chrono::seconds(20)));
  EXPECT_EQ(http->stats().requests, 0);
}

}  // namespace
}  // namespace kvern::test
