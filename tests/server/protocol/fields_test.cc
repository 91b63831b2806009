#include "server/protocol/fields.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::server {
namespace {

json::value parsed(std::string_view text) {
  auto value = parse_json(text, "test");
  EXPECT_TRUE(value.has_value()) << text;
  return value.value_or(nullptr);
}

TEST(Fields, errors_name_the_path_what_was_expected_and_what_came) {
  const json::value body =
      parsed(R"({"a": "text", "b": [1, 2], "c": 7, "d": true, "e": null, "f": 2.5, "g": {}})");
  ObjectReader reader(body.get_object(), "items[3]");
  EXPECT_ERROR(reader.integer("a"), kInvalidArgument,
               "items[3].a: expected an integer, got the string \"text\"");
  EXPECT_ERROR(reader.string("b"), kInvalidArgument, "items[3].b: expected a string, got an array of 2");
  EXPECT_ERROR(reader.integer("c", {0, 5}), kInvalidArgument,
               "expected an integer from 0 to 5, got the number 7");
  EXPECT_ERROR(reader.number("d", {0, 1}), kInvalidArgument, "expected a number from 0 to 1, got true");
  EXPECT_ERROR(reader.boolean("f"), kInvalidArgument, "expected true or false, got the number 2.5");
  EXPECT_ERROR(reader.array("g"), kInvalidArgument, "expected an array, got an object");
  EXPECT_ERROR(reader.object("c"), kInvalidArgument, "expected an object, got the number 7");
  EXPECT_ERROR(reader.word("a", {"x", "y"}), kInvalidArgument,
               "expected \"x\" or \"y\", got the string \"text\"");
  EXPECT_ERROR(reader.required_string("z"), kInvalidArgument,
               "items[3].z: expected a string, but it is missing");
  EXPECT_ERROR(ObjectReader::of(body.at("c"), ""), kInvalidArgument, "the body: expected an object");
  const auto error = reader.integer("a");
  EXPECT_EQ(error.error().where, "items[3].a");
}

TEST(Fields, null_and_absent_are_the_same) {
  const json::value body = parsed(R"({"a": null})");
  ObjectReader reader(body.get_object(), "");
  for (const char* name : {"a", "b"}) {
    ASSERT_OK_AND_ASSIGN(const auto number, reader.integer(name));
    EXPECT_FALSE(number);
    ASSERT_OK_AND_ASSIGN(const json::array* array, reader.array(name));
    EXPECT_EQ(array, nullptr);
    EXPECT_OK(reader.refuse(name, "no reason"));
  }
  EXPECT_OK(reader.finish());
}

TEST(Fields, integers_are_exact_at_their_ends) {
  const auto read = [](std::string_view text) { return read_integer(parsed(text), "n"); };
  ASSERT_OK_AND_ASSIGN(const int64_t largest, read("9223372036854775807"));
  EXPECT_EQ(largest, INT64_MAX);
  ASSERT_OK_AND_ASSIGN(const int64_t least, read("-9223372036854775808"));
  EXPECT_EQ(least, INT64_MIN);
  ASSERT_OK_AND_ASSIGN(const int64_t whole, read("10.0"));
  EXPECT_EQ(whole, 10);
  for (const char* text :
       {"9223372036854775808", "18446744073709551615", "1e19", "1e400", "-1e400", "0.5", "\"1\""})
    EXPECT_ERROR(read(text), kInvalidArgument, "n: expected an integer");
}

TEST(Fields, numbers_must_be_in_their_range) {
  EXPECT_ERROR(read_number(parsed("1e400"), "n"), kInvalidArgument, "expected a finite number");
  EXPECT_ERROR(read_number(parsed("-0.1"), "n", {0, 1}), kInvalidArgument, "from 0 to 1");
  EXPECT_ERROR(read_number(parsed("-0.1"), "n", {.min = 0}), kInvalidArgument, "a number of at least 0");
  ASSERT_OK_AND_ASSIGN(const double one, read_number(parsed("1"), "n", {0, 1}));
  EXPECT_EQ(one, 1);
}

TEST(Fields, what_was_not_read_is_refused_by_name) {
  const json::value body = parsed(R"({"a": 1, "typo": 2})");
  ObjectReader reader(body.get_object(), "");
  ASSERT_OK(reader.integer("a"));
  EXPECT_ERROR(reader.finish(), kUnsupported, "typo is no parameter");
}

TEST(Fields, refused_members_may_have_harmless_values) {
  const json::value body = parsed(R"({"a": false, "b": true, "c": [], "d": [[], []]})");
  ObjectReader reader(body.get_object(), "");
  EXPECT_OK(reader.refuse("a", "why", {"false"}));
  EXPECT_ERROR(reader.refuse("b", "because", {"false"}), kUnsupported, "b is not supported: because");
  EXPECT_OK(reader.refuse("c", "why", {"[]"}));
  EXPECT_ERROR(reader.refuse("d", "why", {"[]"}), kUnsupported, "d is not supported");
  EXPECT_OK(reader.finish());
}

TEST(Fields, messages_stay_short_and_valid) {
  const std::string long_text(10 << 20, 'x');
  EXPECT_LT(describe(json::value(long_text)).size(), 100U);
  std::string umlauts;
  for (int i = 0; i < 50; ++i) umlauts += "\u00e4";
  EXPECT_EQ(describe(json::value("x" + umlauts)).find("\uFFFD"), std::string::npos);
  const json::object body{{long_text, 1}};
  EXPECT_LT(ObjectReader(body, "").finish().error().message.size(), 200U);
}

}  // namespace
}  // namespace kvern::server
