// JSON behind limits: errors with a place, output that is always valid.
#include "base/json.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"
#include "support/result_matchers.h"

namespace kvern {
namespace {

TEST(ParseJson, reads_values_of_every_kind) {
  ASSERT_OK_AND_ASSIGN(const auto value,
                       parse_json(R"( {"a":[1,-2,3.5,true,null,"\u00e9\ud83d\ude00"]} )", "x"));
  const auto& list = value.as_object().at("a").as_array();
  EXPECT_EQ(list.at(0).as_int64(), 1);
  EXPECT_EQ(list.at(1).as_int64(), -2);
  EXPECT_EQ(list.at(2).as_double(), 3.5);
  EXPECT_TRUE(list.at(3).as_bool());
  EXPECT_TRUE(list.at(4).is_null());
  EXPECT_EQ(list.at(5).as_string(), "\u00e9\U0001F600");
}

TEST(ParseJson, fractions_are_the_nearest_double) {
  for (const std::string_view text :
       {"0.1", "1e-05", "-123.456789012345678", "189012345674084028930", "1.7976931348623157e308",
        "2.2250738585072014e-308", "5e-324", "9007199254740993.0", "123e22"}) {
    const double expected = std::strtod(std::string(text).c_str(), nullptr);
    EXPECT_EQ(parse_json(text, "x").value().as_double(), expected) << text;
    EXPECT_EQ(parse_json("[" + std::string(text) + "]", "x").value().at(0).as_double(), expected) << text;
  }
}

TEST(ParseJson, large_integers_keep_every_digit) {
  EXPECT_EQ(parse_json("9223372036854775807", "x").value().as_int64(), INT64_MAX);
  EXPECT_EQ(parse_json("-9223372036854775808", "x").value().as_int64(), INT64_MIN);
  EXPECT_EQ(parse_json("18446744073709551615", "x").value().as_uint64(), UINT64_MAX);
}

RC_GTEST_PROP(ParseJson, a_double_is_read_back_as_it_was, (double number)) {
  const auto read = parse_json(to_json(json::value(number)), "x");
  RC_ASSERT(read.has_value() && read->to_number<double>() == number);
}

TEST(ParseJson, errors_say_where) {
  EXPECT_ERROR(parse_json("{\"a\": 1,\n \"b\": x}", "file.json"), kCorrupt,
               "file.json: not valid JSON at byte 15 (line 2, column 7): ");
}

TEST(ParseJson, text_that_ends_too_early_is_an_error) {
  for (const std::string_view text : {"", "  ", "{", "[1,", "\"abc", "tru", "{\"a\":"})
    EXPECT_ERROR(parse_json(text, "x"), kCorrupt, "the text ends before the value does") << text;
}

TEST(ParseJson, text_after_the_value_is_an_error) {
  EXPECT_ERROR(parse_json("{} {}", "x"), kCorrupt, "byte 3 (line 1, column 4): more text after the end");
  EXPECT_OK(parse_json("{} \n\t ", "x"));
}

TEST(ParseJson, what_is_not_json_is_an_error) {
  for (const std::string_view text :
       {"{'a':1}", "[1,]", "{\"a\":1,}", "01", "+1", ".5", "NaN", "Infinity", "[1 2]", "\"\x01\"",
        "// comment\n1", "\"\\x\"", "\"\\ud800\"", "\"\xff\""})
    EXPECT_ERROR(parse_json(text, "x"), kCorrupt, "not valid JSON") << text;
}

TEST(ParseJson, depth_is_limited) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_OK(parse_json(nested(64), "x"));
  EXPECT_ERROR(parse_json(nested(65), "x"), kCorrupt, "nested deeper than 64 levels");
  EXPECT_ERROR(parse_json(nested(1000000), "x"), kCorrupt, "nested deeper");
  EXPECT_ERROR(parse_json(nested(3), "x", {.max_depth = 2}), kCorrupt, "deeper than 2 levels");
}

TEST(ParseJson, size_is_limited) {
  EXPECT_OK(parse_json("[1]", "x", {.max_bytes = 3}));
  EXPECT_ERROR(parse_json("[1]", "x", {.max_bytes = 2}), kExhausted, "3 bytes of JSON; at most 2");
}

TEST(ToJson, is_compact) {
  EXPECT_EQ(to_json(json::value{{"a", json::array{1, "b", nullptr}}}), R"({"a":[1,"b",null]})");
  EXPECT_EQ(to_json(json::value("a\"\\\n\x01")), R"("a\"\\\n\u0001")");
}

TEST(ToJson, doubles_are_written_as_people_write_them) {
  const json::array numbers{0.0,         -0.0, 1.8, 0.1, 2.0, -3.5, 1e-7, 1e300, 5e-324, 9007199254740993.0,
                            double{0.1F}};
  EXPECT_EQ(to_json(numbers),
            "[0.0,-0.0,1.8,0.1,2.0,-3.5,1e-07,1e+300,5e-324,9007199254740992.0,0.10000000149011612]");
  EXPECT_EQ(to_json(json::array{1, INT64_MIN, UINT64_MAX, true, false, json::object{}, json::array{}}),
            "[1,-9223372036854775808,18446744073709551615,true,false,{},[]]");
}

RC_GTEST_PROP(ToJson, a_double_stays_a_double, (double number)) {
  const auto read = parse_json(to_json(json::value(number)), "x");
  RC_ASSERT(read.has_value() && read->is_double() && read->as_double() == number);
}

TEST(ToJson, replaces_what_is_not_utf8) {
  EXPECT_EQ(to_json(json::value("a\xff"
                                "b\xe2\x82")),
            "\"a\uFFFD"
            "b\uFFFD\"");
  EXPECT_EQ(to_json(json::value{{"\xff", 1}}), "{\"\uFFFD\":1}");
}

TEST(ToJson, numbers_that_json_does_not_have_become_null) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(to_json(json::value(std::nan(""))), "null");
  EXPECT_EQ(to_json(json::value{{"a", json::array{infinity, 1, -infinity}}, {"b", 2}}),
            R"({"a":[null,1,null],"b":2})");
}

RC_GTEST_PROP(ToJson, any_string_gives_valid_json, (const std::string& text)) {
  const std::string written = to_json(json::value(text));
  RC_ASSERT(is_valid_utf8(written));
  const auto read = parse_json(written, "x");
  RC_ASSERT(read.has_value());
  RC_ASSERT(std::string(read->as_string()) == replace_invalid_utf8(text));
}

RC_GTEST_PROP(ParseJson, any_bytes_are_a_value_or_an_error, (const std::string& text)) {
  const auto value = parse_json(text, "x");
  if (!value) RC_ASSERT(value.error().where == "x");
}

}  // namespace
}  // namespace kvern
