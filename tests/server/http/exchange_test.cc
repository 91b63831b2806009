#include "server/http/exchange.h"

#include <gtest/gtest.h>

namespace kvern::server {
namespace {

TEST(HttpRequest, HeadersAreFoundWithoutRegardToCaseAndTheFirstCounts) {
  const HttpRequest request{.headers = {{"Content-Type", "a"}, {"content-type", "b"}}};
  EXPECT_EQ(request.header("CONTENT-type"), "a");
  EXPECT_FALSE(request.header("Content-Typ"));
}

TEST(HttpRequest, QueryNamesAreExact) {
  const HttpRequest request{.query = {{"a", "1"}, {"A", "2"}, {"a", "3"}}};
  EXPECT_EQ(request.query_value("A"), "2");
  EXPECT_EQ(request.query_value("a"), "1");
  EXPECT_FALSE(request.query_value("b"));
}

}  // namespace
}  // namespace kvern::server
