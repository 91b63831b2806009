#include "text/normalizer.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::text {
namespace {

std::string normalize(NormalizerStep step, std::string text) {
  Normalizer normalizer;
  normalizer.add(std::move(step));
  return normalizer.apply(std::move(text));
}

TEST(Normalizer, AppliesTheFourUnicodeForms) {
  EXPECT_EQ(normalize(UnicodeForm::kNfc, "e\u0301 \uAC00\u11A8 \u212B"), "\u00E9 \uAC01 \u00C5");
  EXPECT_EQ(normalize(UnicodeForm::kNfd, "\u00E9"), "e\u0301");
  EXPECT_EQ(normalize(UnicodeForm::kNfkc, "\uFB01\u2460\uFF21"), "fi1A");
  EXPECT_EQ(normalize(UnicodeForm::kNfkd, "\uFB01\u00E9"), "fie\u0301");
}

TEST(Normalizer, KeepsNulInText) {
  const std::string text("\0\u00E9\0", 4);
  EXPECT_EQ(normalize(UnicodeForm::kNfc, text), text);
}

TEST(Normalizer, PrependsToTextOnly) {
  EXPECT_EQ(normalize(Prepend{"_"}, "a"), "_a");
  EXPECT_EQ(normalize(Prepend{"_"}, ""), "");
}

TEST(Normalizer, LowersEachCharacterAlone) {
  EXPECT_EQ(normalize(Lowercase{}, "AÉΣ"), "aéσ");
  EXPECT_EQ(normalize(Lowercase{}, "\u0130"), "i\u0307");
}

TEST(Normalizer, StripsSpaceAtTheEndsAskedFor) {
  EXPECT_EQ(normalize(StripSpace{}, " \u3000a b\n"), "a b");
  EXPECT_EQ(normalize(StripSpace{.left = true, .right = false}, " a "), "a ");
  EXPECT_EQ(normalize(StripSpace{.left = false, .right = true}, " a "), " a");
  EXPECT_EQ(normalize(StripSpace{}, "  "), "");
}

TEST(Normalizer, RemovesMarks) { EXPECT_EQ(normalize(StripAccents{}, "e\u0301\u093F\u20E3"), "e"); }

TEST(Normalizer, MakesOneSpaceOfSeveral) { EXPECT_EQ(normalize(RemoveExtraSpaces{}, "  a   b "), "a b"); }

TEST(Normalizer, ReplacesALiteralEverywhere) {
  EXPECT_EQ(normalize(Replacement{.pattern = {.literal = "aa", .regex = {}}, .content = "b"}, "aaaaa"),
            "bba");
  EXPECT_EQ(normalize(Replacement{.pattern = {.literal = "", .regex = {}}, .content = "b"}, "a"), "a");
}

/// The blob of one rule: "a" becomes `replacement`. The root's children start at unit 0x100 - 'a' so that the
/// child of label 'a' is unit 0x100 ^ ... : worked out by hand from the layout in character_map.cc.
std::string one_rule_blob(std::string_view replacement) {
  std::vector<uint32_t> units(256, 0);
  units[0] = 0;                                    // Root: offset 0, so the child of 'a' is unit 'a'.
  units['a'] = 'a' | (1u << 8) | ((0x80u) << 10);  // Has a value, which is unit 'a' ^ 0x80.
  units['a' ^ 0x80] = 0x80000000u;                 // The value 0: offset of the replacement.
  const uint32_t bytes = static_cast<uint32_t>(units.size() * 4);
  std::string blob(reinterpret_cast<const char*>(&bytes), 4);
  blob.append(reinterpret_cast<const char*>(units.data()), bytes);
  blob.append(replacement);
  blob += '\0';
  return blob;
}

TEST(CharacterMap, ReplacesWhatItsRulesSay) {
  for (const auto matching : {CharacterMap::Matching::kLongest, CharacterMap::Matching::kGraphemes}) {
    ASSERT_OK_AND_ASSIGN(const CharacterMap map, CharacterMap::parse(one_rule_blob("XY"), matching, "test"));
    EXPECT_EQ(map.apply("banana"), "bXYnXYnXY");
    EXPECT_EQ(map.apply("é漢"), "é漢");
  }
}

TEST(CharacterMap, RefusesBlobsThatContradictThemselves) {
  const auto parse = [](std::string_view blob) {
    return CharacterMap::parse(blob, CharacterMap::Matching::kLongest, "file");
  };
  EXPECT_ERROR(parse("abc"), kCorrupt, "at least 4");
  EXPECT_ERROR(parse(std::string_view("\0\0\0\0", 4)), kCorrupt, "trie of 0 bytes");
  EXPECT_ERROR(parse("\xFF\xFF\xFF\x7F----"), kCorrupt, "trie of");
  EXPECT_ERROR(parse(one_rule_blob("\xFF")), kCorrupt, "not UTF-8");
}

TEST(CharacterMap, ReadsNothingBeyondItsEndWhenOffsetsAreWild) {
  std::string blob = one_rule_blob("X");
  for (size_t i = 4; i < 4 + 1024; ++i) blob[i] = static_cast<char>(i * 37 + 11);
  ASSERT_OK_AND_ASSIGN(const CharacterMap map,
                       CharacterMap::parse(blob, CharacterMap::Matching::kLongest, "test"));
  std::string text;
  for (int c = 1; c < 128; ++c) text += static_cast<char>(c);
  EXPECT_LE(map.apply(text).size(), text.size() * 2);
}

}  // namespace
}  // namespace kvern::text
