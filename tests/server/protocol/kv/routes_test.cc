#include "server/protocol/kv/routes.h"

#include <gtest/gtest.h>

#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server::kv {
namespace {

using test::at;

class KvRoutesTest : public testing::Test {
 protected:
  KvRoutesTest() { add_routes(router_, world_.context, {world_.executor, world_.executor}); }
  json::value flush(const Result<engine::FlushReport>& report) {
    world_.service.flush_with([&](auto deadline) {
      deadline_ = deadline;
      return report;
    });
    EXPECT_TRUE(world_.ask(router_, {.method = "POST", .path = "/v1/kv/flush"}));
    return parse_json(world_.answer().body, "answer").value_or(nullptr);
  }

  test::ProtocolWorld world_;
  Router router_;
  std::chrono::steady_clock::time_point deadline_;
};

TEST_F(KvRoutesTest, a_flush_says_that_all_is_durable) {
  world_.context.limits.flush_timeout = std::chrono::milliseconds(700);
  const json::value answer = flush(engine::FlushReport{.durable = true, .saved = 3});
  EXPECT_EQ(world_.answer().status, 200);
  EXPECT_EQ(answer, json::value({{"durable", true},
                                 {"saved", 3},
                                 {"dropped", 0},
                                 {"declined", 0},
                                 {"failed", 0},
                                 {"evicted", 0},
                                 {"left", 0}}));
  EXPECT_EQ(deadline_, world_.clock.now() + std::chrono::milliseconds(700));
}

TEST_F(KvRoutesTest, a_flush_that_took_too_long_is_a_timeout) {
  const json::value answer = flush(engine::FlushReport{.saved = 1, .left = 2});
  EXPECT_EQ(world_.answer().status, 504);
  EXPECT_EQ(at(answer, "durable"), json::value(false));
  EXPECT_EQ(at(answer, "left"), json::value(2));
  EXPECT_EQ(at(answer, "error.code"), json::value("flush_timeout"));
}

TEST_F(KvRoutesTest, a_flush_that_lost_something_says_what) {
  const json::value answer = flush(engine::FlushReport{.dropped = 1, .failed = 2});
  EXPECT_EQ(world_.answer().status, 503);
  EXPECT_EQ(at(answer, "failed"), json::value(2));
  EXPECT_EQ(at(answer, "error.code"), json::value("flush_incomplete"));
  EXPECT_EQ(at(answer, "error.message"),
            json::value("3 prefixes were not saved: 2 failed, 1 dropped since others came"));
  const json::value large = flush(engine::FlushReport{.declined = 1});
  EXPECT_EQ(world_.answer().status, 503);
  EXPECT_EQ(at(large, "declined"), json::value(1));
  EXPECT_EQ(at(large, "error.message"),
            json::value("1 prefix was not saved: 1 declined: too large to be saved, or no server answers"));
}

TEST_F(KvRoutesTest, there_is_nothing_to_flush_to_without_a_directory) {
  const json::value answer = flush(fail(ErrorCode::kUnsupported, "nothing to save to"));
  EXPECT_EQ(world_.answer().status, 501);
  EXPECT_EQ(at(answer, "error.code"), json::value("no_kv_directory"));
}

TEST_F(KvRoutesTest, a_loop_that_has_ended_saves_nothing) {
  flush(fail(ErrorCode::kCancelled, "the engine is being stopped"));
  EXPECT_EQ(world_.answer().status, 503);
}

TEST_F(KvRoutesTest, a_flush_takes_nothing) {
  for (const auto& [path, body, what] : {std::tuple("/v1/kv/flush?cache_salt=x", "", "cache_salt"),
                                         std::tuple("/v1/kv/flush?wait=1", "", "wait"),
                                         std::tuple("/v1/kv/flush", R"({"timeout": 5})", "timeout")}) {
    EXPECT_TRUE(world_.ask(router_, {.method = "POST", .path = path, .body = body}));
    EXPECT_EQ(world_.answer().status, 400) << path << body;
    const json::value answer = parse_json(world_.answer().body, "answer").value_or(nullptr);
    EXPECT_EQ(at(answer, "error.param"), json::value(what));
    EXPECT_EQ(at(answer, "error.code"), json::value("unsupported_parameter"));
  }
  EXPECT_TRUE(world_.ask(router_, {.method = "POST", .path = "/v1/kv/flush", .body = "x"}));
  EXPECT_EQ(world_.answer().status, 400);
  world_.service.flush_with([](auto) { return engine::FlushReport{.durable = true}; });
  EXPECT_TRUE(world_.ask(router_, {.method = "POST", .path = "/v1/kv/flush", .body = "{}"}));
  EXPECT_EQ(world_.answer().status, 200);
}

TEST_F(KvRoutesTest, without_a_directory_there_is_nothing_to_look_after) {
  for (const char* path : {"/v1/kv/stats", "/v1/kv/prefixes", "/v1/kv/prefixes/a", "/v1/kv/sessions",
                           "/v1/kv/sessions/a", "/v1/kv/sessions/a/export"}) {
    EXPECT_TRUE(world_.ask(router_, {.method = "GET", .path = path})) << path;
    EXPECT_EQ(world_.answer().status, 501) << path;
  }
}

}  // namespace
}  // namespace kvern::server::kv
