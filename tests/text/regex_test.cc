#include "text/regex.h"

#include <gmock/gmock.h>

#include "support/result_matchers.h"

namespace kvern::text {
namespace {

using testing::ElementsAre;

Regex compile(std::string_view pattern) {
  auto regex = Regex::compile(pattern, "test");
  EXPECT_OK(regex);
  return *regex;
}

TEST(Regex, FindsAllMatchesFromLeftToRight) {
  EXPECT_THAT(compile("a+").find_all("aabca"), ElementsAre(Range{0, 2}, Range{4, 5}));
  EXPECT_THAT(compile("a+").find_all(""), ElementsAre());
  EXPECT_THAT(compile("a+").find_all("bcd"), ElementsAre());
}

TEST(Regex, LeavesOutAnEmptyMatchDirectlyAfterAnother) {
  EXPECT_THAT(compile("a*").find_all("aab"), ElementsAre(Range{0, 2}, Range{3, 3}));
  EXPECT_THAT(compile("").find_all("é"), ElementsAre(Range{0, 0}, Range{2, 2}));
}

TEST(Regex, KnowsUnicodeWhiteSpaceAndNothingMore) {
  const Regex space = compile(R"(\s)");
  EXPECT_EQ(space.find_all("\u00A0\u0085\u2028\u3000\v").size(), 5u);
  EXPECT_EQ(space.find_all("\u180E\u200B\uFEFF").size(), 0u);
  EXPECT_EQ(compile(R"([^\S])").find_all("\u180E \u200B").size(), 1u);
  EXPECT_EQ(compile(R"(\S)").find_all("\u180E \u200B").size(), 2u);
}

TEST(Regex, KnowsClassesBeyondAscii) {
  EXPECT_EQ(compile(R"(\p{L}+)").find_all("größe שלום 漢字 x1").size(), 4u);
  EXPECT_EQ(compile(R"(\p{N})").find_all("1٣½Ⅳ").size(), 4u);
  EXPECT_EQ(compile(R"((?i:'s))").find_all("it'S it's it'\u017F").size(), 3u);
  EXPECT_EQ(compile(R"(\w+)").find_all("a\u0301b_1-c").size(), 2u);
}

TEST(Regex, LineAnchorsStandAtEveryLineAsInRuby) { EXPECT_EQ(compile("^a").find_all("a\na\nba").size(), 2u); }

TEST(Regex, RefusesWhatItCannotExpressAndQuotesThePattern) {
  EXPECT_ERROR(Regex::compile("(a", "file"), kUnsupported, "\"(a\"");
  EXPECT_ERROR(Regex::compile("a\\", "file"), kCorrupt, "file");
  EXPECT_ERROR(Regex::compile(R"([a&&b])", "file"), kUnsupported, "&&");
  EXPECT_ERROR(Regex::compile(R"([a[b]])", "file"), kUnsupported, "set inside a set");
  EXPECT_ERROR(Regex::compile(R"([\W])", "file"), kUnsupported, "\\W");
  EXPECT_ERROR(Regex::compile(R"(\h)", "file"), kUnsupported, "\\h");
}

TEST(Regex, TranslatesEscapesInsideAndOutsideSets) {
  ASSERT_OK_AND_ASSIGN(const std::string plain, translate_pattern(R"([]a\]]\p{L}[[:alpha:]])", "test"));
  EXPECT_EQ(plain, R"([\]a\]]\p{L}[[:alpha:]])");
}

TEST(Regex, GivesUpOnExponentialPatternsInsteadOfHanging) {
  const std::string text(5000, 'a');
  EXPECT_THAT(compile("(?:a?){40}(?:a+)+b").find_all(text), ElementsAre());
}

TEST(Regex, MatchesAMillionCharactersInOneGo) {
  const std::string text(1 << 20, 'x');
  EXPECT_THAT(compile(R"(\p{L}+|\s+)").find_all(text), ElementsAre(Range{0, text.size()}));
  const std::string spaces(1 << 20, ' ');
  EXPECT_EQ(compile(R"(\s*[\r\n]+|\s+(?!\S)|\s+)").find_all(spaces + "x").size(), 2u);
}

}  // namespace
}  // namespace kvern::text
