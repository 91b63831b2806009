// UTF-8 against the tables of the Unicode standard.
#include "base/utf8.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace kvern {
namespace {

std::string encoded(char32_t code_point) {
  std::string out;
  append_utf8(out, code_point);
  return out;
}

TEST(Utf8, every_scalar_value_goes_there_and_back) {
  for (char32_t value = 0; value <= 0x10FFFF; ++value) {
    if (value >= 0xD800 && value <= 0xDFFF) continue;
    const std::string text = encoded(value);
    const Utf8Step step = decode_utf8(text);
    ASSERT_TRUE(step.valid && step.code_point == value && step.length == text.size())
        << static_cast<uint32_t>(value);
  }
}

TEST(Utf8, encodings_have_the_lengths_of_the_standard) {
  EXPECT_EQ(encoded(0x7F), "\x7f");
  EXPECT_EQ(encoded(0x80), "\xc2\x80");
  EXPECT_EQ(encoded(0x7FF), "\xdf\xbf");
  EXPECT_EQ(encoded(0x800), "\xe0\xa0\x80");
  EXPECT_EQ(encoded(0xFFFF), "\xef\xbf\xbf");
  EXPECT_EQ(encoded(0x10000), "\xf0\x90\x80\x80");
  EXPECT_EQ(encoded(0x10FFFF), "\xf4\x8f\xbf\xbf");
}

TEST(Utf8, what_is_no_scalar_value_is_encoded_as_the_replacement) {
  EXPECT_EQ(encoded(0xD800), "\uFFFD");
  EXPECT_EQ(encoded(0xDFFF), "\uFFFD");
  EXPECT_EQ(encoded(0x110000), "\uFFFD");
  EXPECT_EQ(encoded(0xFFFFFFFF), "\uFFFD");
}

TEST(Utf8, overlong_forms_surrogates_and_large_values_are_not_valid) {
  for (const std::string_view text :
       {"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf",                                               // Overlong.
        "\xed\xa0\x80", "\xed\xbf\xbf",                                   // Surrogates.
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xfe",           // Too large.
        "\x80", "\xbf", "\xc2", "\xe2\x82", "\xf0\x9f\x98", "\xc2\x41"})  // Cut.
    EXPECT_FALSE(is_valid_utf8(text)) << testing::PrintToString(text);
}

TEST(Utf8, replacement_follows_the_example_of_the_standard) {
  // Unicode 15, tables 3-8 to 3-11.
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41");
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41");
  EXPECT_EQ(replace_invalid_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41\uFFFD\uFFFD\x42");
  EXPECT_EQ(replace_invalid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\uFFFD\uFFFD\uFFFD\uFFFD\x41");
}

TEST(Utf8, a_suffix_that_more_bytes_could_complete_is_held_back) {
  EXPECT_EQ(incomplete_utf8_suffix(""), 0u);
  EXPECT_EQ(incomplete_utf8_suffix("abc"), 0u);
  EXPECT_EQ(incomplete_utf8_suffix("\u20ac"), 0u);
  EXPECT_EQ(incomplete_utf8_suffix("a\xe2"), 1u);
  EXPECT_EQ(incomplete_utf8_suffix("a\xe2\x82"), 2u);
  EXPECT_EQ(incomplete_utf8_suffix("a\xf0\x9f\x98"), 3u);
  EXPECT_EQ(incomplete_utf8_suffix("a\x80\x80"), 0u);     // No lead byte.
  EXPECT_EQ(incomplete_utf8_suffix("a\xe0\x80"), 0u);     // Overlong whatever follows.
  EXPECT_EQ(incomplete_utf8_suffix("\xf0\x9f\xff"), 0u);  // Broken already.
  EXPECT_EQ(incomplete_utf8_suffix("\xf5"), 0u);
}

RC_GTEST_PROP(Utf8, replacing_gives_valid_text_and_keeps_valid_text, (const std::string& text)) {
  const std::string once = replace_invalid_utf8(text);
  RC_ASSERT(is_valid_utf8(once));
  RC_ASSERT(replace_invalid_utf8(once) == once);
  RC_ASSERT(is_valid_utf8(text) == (once == text));
}

RC_GTEST_PROP(Utf8, text_cut_anywhere_and_joined_again_is_the_same, (const std::u32string& characters)) {
  std::string text;
  for (const char32_t character : characters) append_utf8(text, character % 0x110000);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string_view head = std::string_view(text).substr(0, cut);
    const size_t held = incomplete_utf8_suffix(head);
    RC_ASSERT(is_valid_utf8(head.substr(0, cut - held)));
  }
}

}  // namespace
}  // namespace kvern
