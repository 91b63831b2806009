// Where a Redis server is.
#include "store/remote/redis_url.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::store {
namespace {

TEST(RedisUrl, IsReadInAllItsForms) {
  ASSERT_OK_AND_ASSIGN(const RedisUrl plain, parse_redis_url("redis://cache.local"));
  EXPECT_EQ(plain.host, "cache.local");
  EXPECT_EQ(plain.port, 6379);
  EXPECT_EQ(plain.database, 0);
  EXPECT_FALSE(plain.tls);
  EXPECT_EQ(plain.to_string(), "redis://cache.local:6379/0");
  ASSERT_OK_AND_ASSIGN(const RedisUrl all, parse_redis_url("rediss://me:p%40ss%2F:w@[::1]:7000/3"));
  EXPECT_EQ(all.host, "::1");
  EXPECT_EQ(all.port, 7000);
  EXPECT_EQ(all.database, 3);
  EXPECT_TRUE(all.tls);
  EXPECT_EQ(all.user, "me");
  EXPECT_EQ(all.password, "p@ss/:w");
  EXPECT_EQ(all.to_string(), "rediss://me@[::1]:7000/3");
  ASSERT_OK_AND_ASSIGN(const RedisUrl password, parse_redis_url("redis://secret@h:1/"));
  EXPECT_EQ(password.user, "");
  EXPECT_EQ(password.password, "secret");
  EXPECT_EQ(password.to_string().find("secret"), std::string::npos);
  ASSERT_OK_AND_ASSIGN(const RedisUrl socket, parse_redis_url("unix://:pw@/run/redis.sock?db=2"));
  EXPECT_EQ(socket.socket, "/run/redis.sock");
  EXPECT_EQ(socket.password, "pw");
  EXPECT_EQ(socket.database, 2);
  EXPECT_EQ(socket.to_string(), "unix:///run/redis.sock?db=2");
}

TEST(RedisUrl, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "no scheme"},          {"localhost:6379", "no scheme"}, {"http://h", "scheme is unknown"},
      {"redis://", "host"},       {"redis://h:0", "host or port"}, {"redis://h:99999", "host or port"},
      {"redis://h:1x", "host"},   {"redis://[::1", "host"},        {"redis://h/x", "no number"},
      {"redis://h/-1", "number"}, {"redis://a:%4@h", "escape"},    {"redis://a:%zz@h", "escape"},
      {"unix://relative", "'/'"}, {"unix:///s?db=x", "no number"},
  };
  for (const auto& [text, part] : wrong) EXPECT_ERROR(parse_redis_url(text), kInvalidArgument, part) << text;
}

}  // namespace
}  // namespace kvern::store
