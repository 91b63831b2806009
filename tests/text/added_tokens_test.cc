#include "text/added_tokens.h"

#include <gtest/gtest.h>

namespace kvern::text {
namespace {

/// "text|text" with tokens as [id]: easy to read.
std::string shown(const AddedTokenMatcher& matcher, std::string_view text,
                  SpecialParsing parsing = {.enabled = true}) {
  std::string out;
  for (const Segment& segment : matcher.split(text, parsing)) {
    if (!out.empty()) out += '|';
    const std::string_view part = text.substr(segment.range.begin, segment.range.end - segment.range.begin);
    if (segment.token >= 0)
      out += "[" + std::to_string(segment.token) + ":" + std::string(part) + "]";
    else
      out += part;
  }
  return out;
}

AddedTokenMatcher matcher_of(std::initializer_list<AddedToken> tokens) {
  AddedTokenMatcher matcher;
  for (const AddedToken& token : tokens) matcher.add(token, token.content);
  return matcher;
}

TEST(AddedTokens, CoverTheTextInOrder) {
  const auto matcher = matcher_of({{.content = "<s>", .id = 1, .special = true}});
  EXPECT_EQ(shown(matcher, "a<s>b<s><s>"), "a|[1:<s>]|b|[1:<s>]|[1:<s>]");
  EXPECT_EQ(shown(matcher, ""), "");
  EXPECT_EQ(shown(matcher, "<s"), "<s");
}

TEST(AddedTokens, TheLongestLiteralWins) {
  const auto matcher =
      matcher_of({{.content = "<a", .id = 1}, {.content = "<ab>", .id = 2}, {.content = "b>c", .id = 3}});
  EXPECT_EQ(shown(matcher, "<ab>c"), "[2:<ab>]|c");
  EXPECT_EQ(shown(matcher, "<abx"), "[1:<a]|bx");
  EXPECT_EQ(shown(matcher, "<b>c"), "<|[3:b>c]");
}

TEST(AddedTokens, SpecialOnesStayTextWhenNotAskedFor) {
  const auto matcher =
      matcher_of({{.content = "<s>", .id = 1, .special = true}, {.content = "<think>", .id = 2}});
  EXPECT_EQ(shown(matcher, "<s><think>", {.enabled = false}), "<s>|[2:<think>]");
}

TEST(AddedTokens, ASkippedSpecialLiteralHidesWhatLiesInIt) {
  const auto matcher =
      matcher_of({{.content = "<<x>>", .id = 1, .special = true}, {.content = "x>", .id = 2}});
  EXPECT_EQ(shown(matcher, "<<x>> x>", {.enabled = false}), "<<x>> |[2:x>]");
}

TEST(AddedTokens, SpecialOnesStayTextInPlainStretchesAndAcrossTheirBorders) {
  const auto matcher =
      matcher_of({{.content = "<s>", .id = 1, .special = true}, {.content = "<t>", .id = 2}});
  const Range plain[] = {{3, 6}, {9, 9}, {10, 13}};
  EXPECT_EQ(shown(matcher, "<s><s><s>x<t><s>", {.enabled = true, .plain = plain}),
            "[1:<s>]|<s>|[1:<s>]|x|[2:<t>]|[1:<s>]");
  const Range border[] = {{1, 2}};
  EXPECT_EQ(shown(matcher, "<s><s>", {.enabled = true, .plain = border}), "<s>|[1:<s>]");
  const Range user[] = {{0, 2}};
  const auto overlapping = matcher_of(
      {{.content = "ab<", .id = 1, .special = true}, {.content = "<s>", .id = 2, .special = true}});
  EXPECT_EQ(shown(overlapping, "ab<s>", {.enabled = true, .plain = user}), "ab|[2:<s>]");
}

TEST(AddedTokens, TakeTheSpaceBesideThem) {
  const auto matcher =
      matcher_of({{.content = "L", .id = 1, .lstrip = true}, {.content = "R", .id = 2, .rstrip = true}});
  EXPECT_EQ(shown(matcher, "a \u3000\nL b"), "a|[1: \u3000\nL]| b");
  EXPECT_EQ(shown(matcher, "a R \t b"), "a |[2:R \t ]|b");
  EXPECT_EQ(shown(matcher, "R  L"), "[2:R  ]|[1:L]");
}

TEST(AddedTokens, SingleWordsStandAlone) {
  const auto matcher = matcher_of({{.content = "ing", .id = 1, .single_word = true}});
  EXPECT_EQ(shown(matcher, "king ing, ing"), "king |[1:ing]|, |[1:ing]");
  EXPECT_EQ(shown(matcher, "ing\u00E9 \u4E2Ding"), "ing\u00E9 \u4E2Ding");
}

}  // namespace
}  // namespace kvern::text
