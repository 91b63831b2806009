#include "engine/sample/stop_matcher.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"

namespace kvern::engine {
namespace {

using Strings = std::vector<std::string>;

StopMatcher matcher(const Strings& stops) {
  auto created = StopMatcher::create(stops);
  EXPECT_TRUE(created.has_value());
  return *std::move(created);
}

/// What each push gives out, then what finish gives out.
Strings stream(const Strings& stops, const Strings& pieces) {
  StopMatcher stop = matcher(stops);
  Strings given;
  for (const auto& piece : pieces) given.push_back(stop.push(piece).text);
  given.push_back(stop.finish());
  return given;
}

TEST(StopMatcherTest, FindsAStopStringAcrossPieces) {
  const Strings stops = {"\nUser:", "b,c"};
  EXPECT_EQ(stream(stops, {"a", "b", ",", "c", "d"}), (Strings{"a", "", "", "", "", ""}));
}

TEST(StopMatcherTest, HoldsTextOnlyWhileItMayBecomeAStopString) {
  const Strings stops = {"\nUser:", "b,c"};
  EXPECT_EQ(stream(stops, {"x\nUs", "er", "x"}), (Strings{"x", "", "\nUserx", ""}));
}

TEST(StopMatcherTest, GivesOutTheHeldTextAtTheEnd) {
  EXPECT_EQ(stream({"\nUser:"}, {"x\nUser"}), (Strings{"x", "\nUser"}));
}

TEST(StopMatcherTest, FindsAnOverlappingBeginning) {
  EXPECT_EQ(stream({"aab"}, {"aaab"}), (Strings{"a", ""}));
  EXPECT_EQ(stream({"aab"}, {"a", "a", "a", "b"}), (Strings{"", "", "a", "", ""}));
}

TEST(StopMatcherTest, TextBeforeAStopInsideOnePieceIsGivenOutAndTheRestIsNot) {
  StopMatcher stop = matcher({"END", "zzz"});
  const StopUpdate update = stop.push("one END two");
  EXPECT_EQ(update.text, "one ");
  EXPECT_EQ(update.matched, 0U);
  EXPECT_EQ(stop.push("more").text, "");
  EXPECT_EQ(stop.push("more").matched, 0U);
  EXPECT_EQ(stop.finish(), "");
}

TEST(StopMatcherTest, TheStopThatIsCompleteFirstWins) {
  StopMatcher stop = matcher({"abcd", "bc"});
  const StopUpdate update = stop.push("xabcd");
  EXPECT_EQ(update.text, "xa");
  EXPECT_EQ(update.matched, 1U);
}

TEST(StopMatcherTest, OfStopsThatEndTogetherTheLongestWins) {
  StopMatcher stop = matcher({"cd", "abcd", "d"});
  const StopUpdate update = stop.push("xabcd");
  EXPECT_EQ(update.text, "x");
  EXPECT_EQ(update.matched, 1U);
}

TEST(StopMatcherTest, AFailedLongBeginningFallsBackToAShorterOne) {
  // "aba" is held for the first stop; "abac" leaves only the beginning "c" of the second.
  EXPECT_EQ(stream({"abab", "cx"}, {"aba", "c", "y"}), (Strings{"", "aba", "cy", ""}));
}

TEST(StopMatcherTest, TheSameStopTwiceReportsTheFirst) {
  StopMatcher stop = matcher({"x", "x"});
  EXPECT_EQ(stop.push("x").matched, 0U);
}

TEST(StopMatcherTest, WithoutStopsTextPassesAtOnce) {
  StopMatcher stop;
  EXPECT_EQ(stop.push("anything").text, "anything");
  EXPECT_EQ(stop.push("").text, "");
  EXPECT_EQ(stop.finish(), "");
}

TEST(StopMatcherTest, NeverGivesOutPartOfACharacter) {
  // U+20AC is E2 82 AC; the stop string begins with the same two bytes (U+2080, E2 82 80).
  EXPECT_EQ(stream({"\xE2\x82\x80"}, {"a\xE2", "\x82", "\xAC", "b"}),
            (Strings{"a", "", "\xE2\x82\xAC", "b", ""}));
  EXPECT_EQ(stream({"zz"}, {"\xF0\x9F", "\x98\x80z"}), (Strings{"", "\xF0\x9F\x98\x80", "z"}));
}

TEST(StopMatcherTest, ReportsWhatItHolds) {
  StopMatcher stop = matcher({"abcd"});
  stop.push("xxabc");
  EXPECT_EQ(stop.held_bytes(), 3U);
  stop.push("x");
  EXPECT_EQ(stop.held_bytes(), 0U);
}

TEST(StopMatcherTest, WrongStopStringsAreErrors) {
  for (const Strings& stops :
       {Strings{""}, Strings{"a", ""}, Strings{"\xFF"}, Strings{std::string(2 << 20, 'a')}}) {
    const auto created = StopMatcher::create(stops);
    ASSERT_FALSE(created.has_value());
    EXPECT_EQ(created.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(created.error().where, stops.size() == 2 ? "stop[1]" : "stop[0]");
  }
}

TEST(StopTokensTest, ContainsWhatWasNamed) {
  const StopTokens tokens({7, 2, 7});
  EXPECT_TRUE(tokens.contains(2));
  EXPECT_TRUE(tokens.contains(7));
  EXPECT_FALSE(tokens.contains(3));
  EXPECT_EQ(tokens.tokens().size(), 2U);
  EXPECT_FALSE(StopTokens().contains(0));
}

/// Slow and obvious: the text up to the first stop string to be complete.
std::string until_stop(const std::string& text, const Strings& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const auto& stop : stops)
      if (std::string_view(text).substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

/// The longest end of `text` that is the beginning of a stop string.
size_t held_length(const std::string& text, const Strings& stops) {
  size_t longest = 0;
  for (const auto& stop : stops)
    for (size_t n = 1; n < stop.size() && n <= text.size(); ++n)
      if (std::string_view(text).ends_with(std::string_view(stop).substr(0, n)))
        longest = std::max(longest, n);
  return longest;
}

/// Few characters, one of two bytes, so that matches and near misses are common.
std::string any_text(int max_length, int min_length = 0) {
  std::string text;
  const int length = *rc::gen::inRange(min_length, max_length);
  for (int i = 0; i < length; ++i) text += *rc::gen::element<std::string>("a", "b", "\xC3\xA4");
  return text;
}

RC_GTEST_PROP(StopMatcherTest, TheTextDoesNotDependOnThePieces, ()) {
  Strings stops;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) stops.push_back(any_text(6, 1));
  const std::string text = any_text(60);
  StopMatcher stop = matcher(stops);
  std::string given;
  std::string taken;
  for (size_t at = 0; at < text.size();) {
    const auto length = std::min(text.size() - at, *rc::gen::inRange<size_t>(1, 9));
    taken += text.substr(at, length);
    const StopUpdate update = stop.push(std::string_view(text).substr(at, length));
    given += update.text;
    at += length;
    RC_ASSERT(is_valid_utf8(given));
    if (update.matched) {
      RC_ASSERT(given == until_stop(text, stops));
      RC_ASSERT(taken.size() >= given.size() + stops[*update.matched].size());
      return;
    }
    // Held is what must be held, and no byte more than a cut character.
    const size_t certain = taken.size() - held_length(taken, stops);
    RC_ASSERT(given.size() == certain - incomplete_utf8_suffix(std::string_view(taken).substr(0, certain)));
  }
  given += stop.finish();
  RC_ASSERT(given == until_stop(text, stops));
  RC_ASSERT(given == text);
}

RC_GTEST_PROP(StopMatcherTest, ArbitraryBytesPassUnchangedWithoutAMatch, ()) {
  const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  StopMatcher stop = matcher({"never in a random text"});
  std::string given;
  for (const char byte : bytes) given += stop.push({&byte, 1}).text;
  RC_ASSERT(given + stop.finish() == bytes);
}

}  // namespace
}  // namespace kvern::engine
