#include "text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::text {
namespace {

/// The pieces, separated by '/'.
std::string shown(const PreTokenizer& pre_tokenizer, std::string text, bool at_start = true) {
  const Pieces pieces = pre_tokenizer.split(std::move(text), at_start);
  std::string out;
  for (const Range range : pieces.ranges) {
    if (!out.empty()) out += '/';
    out += pieces.text.substr(range.begin, range.end - range.begin);
  }
  return out;
}

PreTokenizer one(PreTokenizerStep step) {
  PreTokenizer pre_tokenizer;
  pre_tokenizer.add(std::move(step));
  return pre_tokenizer;
}

PreTokenizer split(SplitBehavior behavior, bool invert = false) {
  return one(
      SplitStep{.pattern = Pattern{.literal = "-", .regex = {}}, .behavior = behavior, .invert = invert});
}

TEST(PreTokenizer, TreatsMatchesAsTheBehaviorSays) {
  const std::string text = "-a--b-";
  EXPECT_EQ(shown(split(SplitBehavior::kRemoved), text), "a/b");
  EXPECT_EQ(shown(split(SplitBehavior::kIsolated), text), "-/a/-/-/b/-");
  EXPECT_EQ(shown(split(SplitBehavior::kMergedWithPrevious), text), "-/a-/-/b-");
  EXPECT_EQ(shown(split(SplitBehavior::kMergedWithNext), text), "-a/-/-b/-");
  EXPECT_EQ(shown(split(SplitBehavior::kContiguous), text), "-/a/--/b/-");
  EXPECT_EQ(shown(split(SplitBehavior::kRemoved, true), text), "-/-/-/-");
}

TEST(PreTokenizer, WithoutStepsTheTextIsOnePiece) {
  EXPECT_EQ(shown(PreTokenizer(), "a b"), "a b");
  EXPECT_EQ(shown(PreTokenizer(), ""), "");
}

TEST(PreTokenizer, SplitsDigitsOneByOneOrInRuns) {
  EXPECT_EQ(shown(one(SplitStep{.pattern = CharacterClass::kNumeric}), "a12½b"), "a/1/2/½/b");
  EXPECT_EQ(shown(one(SplitStep{.pattern = CharacterClass::kNumeric, .behavior = SplitBehavior::kContiguous}),
                  "a12½b"),
            "a/12½/b");
}

TEST(PreTokenizer, MetaspaceMarksWordsAndTheStart) {
  EXPECT_EQ(shown(one(MetaspaceStep{}), "a b"), "\u2581a/\u2581b");
  EXPECT_EQ(shown(one(MetaspaceStep{}), " a"), "\u2581a");
  const MetaspaceStep first{.scheme = PrependScheme::kFirst};
  EXPECT_EQ(shown(one(first), "a", true), "\u2581a");
  EXPECT_EQ(shown(one(first), "a", false), "a");
  EXPECT_EQ(shown(one(MetaspaceStep{.scheme = PrependScheme::kNever, .split = false}), "a b"), "a\u2581b");
}

TEST(PreTokenizer, SpellsBytesAfterSplitting) {
  PreTokenizer pre_tokenizer;
  pre_tokenizer.add(PrefixSpaceStep{});
  pre_tokenizer.add(ByteLevelStep{});
  EXPECT_EQ(shown(pre_tokenizer, "é\n"), "\u0120\u00C3\u00A9\u010A");
  EXPECT_EQ(shown(pre_tokenizer, " a"), "\u0120a");
}

}  // namespace
}  // namespace kvern::text
