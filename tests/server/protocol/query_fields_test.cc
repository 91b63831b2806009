#include "server/protocol/query_fields.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::server {
namespace {

constexpr std::string_view kKnown[] = {"stream", "after"};

HttpRequest asking(std::vector<std::pair<std::string, std::string>> query) {
  return {.query = std::move(query)};
}

TEST(QueryFields, that_are_known_may_be_given_once) {
  EXPECT_OK(check_query(asking({}), kKnown));
  EXPECT_OK(check_query(asking({{"after", "x"}, {"stream", ""}}), kKnown));
  EXPECT_ERROR(check_query(asking({{"after", "x"}, {"after", "x"}}), kKnown), kInvalidArgument,
               "given twice");
}

TEST(QueryFields, that_are_unknown_are_named) {
  EXPECT_ERROR(check_query(asking({{"after", "x"}, {"include", "y"}}), kKnown), kUnsupported,
               "include is no parameter");
  const auto refused = check_query(asking({{std::string(5000, 'a'), ""}}), kKnown);
  ASSERT_FALSE(refused);
  EXPECT_LT(refused.error().message.size(), 200U);
  EXPECT_ERROR(check_query(asking({{"stream", "true"}}), {}), kUnsupported, "stream");
}

TEST(QueryFields, flags_are_words) {
  EXPECT_FALSE(*query_flag(asking({}), "pinned"));
  EXPECT_FALSE(*query_flag(asking({{"pinned", "false"}}), "pinned"));
  EXPECT_TRUE(*query_flag(asking({{"pinned", "true"}}), "pinned"));
  for (const char* value : {"", "1", "yes", "TRUE"})
    EXPECT_ERROR(query_flag(asking({{"pinned", value}}), "pinned"), kInvalidArgument, "true or false");
}

}  // namespace
}  // namespace kvern::server
