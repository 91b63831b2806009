// Code points: the same text whichever way it is walked.
#include "text/template/unicode.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace kvern::jinja {
namespace {

TEST(Unicode, LengthsAreInCodePoints) {
  EXPECT_EQ(count_code_points("aé日🎉"), 4U);
  EXPECT_EQ(byte_offset("aé日🎉", 3), 6U);
  EXPECT_EQ(byte_offset("aé", 9), 3U);
  EXPECT_EQ(count_code_points("\xff\xc3"), 2U);
}

TEST(Unicode, CaseMappingsKnowMoreThanAscii) {
  EXPECT_EQ(to_upper("straße é"), "STRASSE É");
  EXPECT_EQ(to_lower("ÀÉ Ж"), "àé ж");
  EXPECT_EQ(capitalize("éCOLE"), "École");
  EXPECT_EQ(title_case("they're 2nd ÉCOLE"), "They'Re 2Nd École");
}

TEST(Unicode, StripTakesSpacesOrTheGivenCodePoints) {
  EXPECT_EQ(strip(" \u3000\u2028a b\u00a0\n", Side::kBoth), "a b");
  EXPECT_EQ(strip("éàéxàé", Side::kLeft, "éà"), "xàé");
  EXPECT_EQ(strip("éàéxàé", Side::kRight, "éà"), "éàéx");
  EXPECT_EQ(strip("aaa", Side::kBoth, "a"), "");
}

RC_GTEST_PROP(Unicode, PiecesOfAnyBytesJoinToTheWhole, (const std::string& text)) {
  const auto pieces = split_code_points(text);
  std::string joined;
  for (const auto piece : pieces) joined += piece;
  RC_ASSERT(joined == text);
  RC_ASSERT(pieces.size() == count_code_points(text));
  RC_ASSERT(byte_offset(text, pieces.size()) == text.size());
}

RC_GTEST_PROP(Unicode, StripLeavesNoSpaceAtTheEndsOfAnyBytes, (const std::string& text)) {
  const std::string_view inner = strip(text, Side::kBoth);
  RC_ASSERT(text.find(inner) != std::string::npos);
  if (!inner.empty()) RC_ASSERT(!is_space(decode_at(inner, 0).value));
  RC_ASSERT(strip(inner, Side::kBoth) == inner);
}

}  // namespace
}  // namespace kvern::jinja
