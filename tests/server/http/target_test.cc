#include "server/http/target.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/result_matchers.h"

namespace kvern::server {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;
using Segments = std::vector<std::string>;

TEST(Target, SplitsPathAndQuery) {
  ASSERT_OK_AND_ASSIGN(const Target target, parse_target("/v1/models?limit=2&name=a+b%26c&flag&=x&&y=1=2"));
  EXPECT_EQ(target.path, "/v1/models");
  EXPECT_EQ(target.segments, (Segments{"v1", "models"}));
  EXPECT_EQ(target.query, (Query{{"limit", "2"}, {"name", "a b&c"}, {"flag", ""}, {"", "x"}, {"y", "1=2"}}));
}

TEST(Target, DecodesEachSegmentByItself) {
  ASSERT_OK_AND_ASSIGN(const Target target, parse_target("/m/org%2Fname/%C3%A4+%20"));
  EXPECT_EQ(target.segments, (Segments{"m", "org/name", "ä+ "}));
  EXPECT_EQ(target.path, "/m/org/name/ä+ ");
}

TEST(Target, KeepsEmptySegmentsAndDots) {
  ASSERT_OK_AND_ASSIGN(const Target target, parse_target("/a//../%2e%2e/"));
  EXPECT_EQ(target.segments, (Segments{"a", "", "..", "..", ""}));
  ASSERT_OK_AND_ASSIGN(const Target root, parse_target("/"));
  EXPECT_EQ(root.segments, Segments{""});
}

TEST(Target, TakesTheAbsoluteFormAndTheAsterisk) {
  ASSERT_OK_AND_ASSIGN(const Target target, parse_target("http://host:80/a?b=c"));
  EXPECT_EQ(target.path, "/a");
  EXPECT_EQ(target.query, (Query{{"b", "c"}}));
  ASSERT_OK_AND_ASSIGN(const Target bare, parse_target("http://host"));
  EXPECT_EQ(bare.path, "/");
  ASSERT_OK_AND_ASSIGN(const Target query, parse_target("http://host?b=c"));
  EXPECT_EQ(query.path, "/");
  ASSERT_OK_AND_ASSIGN(const Target star, parse_target("*"));
  EXPECT_TRUE(star.segments.empty());
}

TEST(Target, RefusesWhatIsNone) {
  for (const char* bad :
       {"", "a", "host:443", "/%", "/%4", "/%4g", "/a?x=%", "/%00", "/a b", "/a\tb", "/a\x7f"})
    EXPECT_ERROR(parse_target(bad), kInvalidArgument, "") << bad;
}

RC_GTEST_PROP(Target, EncodedTextComesBack, (const std::vector<std::string>& parts)) {
  std::string target;
  Segments expected;
  for (std::string part : parts) {
    std::erase(part, '\0');
    target += '/';
    for (const char c : part) {
      constexpr char kHex[] = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      target += '%';
      target += kHex[byte / 16];
      target += kHex[byte % 16];
    }
    expected.push_back(part);
  }
  RC_PRE(!parts.empty());
  const auto parsed = parse_target(target);
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(parsed->segments == expected);
}

}  // namespace
}  // namespace kvern::server
