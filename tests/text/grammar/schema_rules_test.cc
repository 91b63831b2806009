#include "text/grammar/schema_rules.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/result_matchers.h"
#include "support/shared_data.h"
#include "text/grammar/grammar_support.h"
#include "text/grammar/schema_cases.h"
#include "text/grammar/schema_oracle.h"

namespace kvern::text::grammar {
namespace {

using test::byte_vocabulary;
using test::Layout;
using test::matches;

Result<std::shared_ptr<const Grammar>> compiled(std::string_view schema) {
  return Grammar::from_json_schema(json::parse(schema), byte_vocabulary());
}
std::shared_ptr<const Grammar> grammar_of(std::string_view schema) {
  auto grammar = compiled(schema);
  EXPECT_OK(grammar) << schema;
  return grammar ? *grammar : nullptr;
}
bool allows(std::string_view schema, std::string_view text) { return matches(grammar_of(schema), text); }

TEST(Schema, EveryGeneratedTextIsValidJsonUnderTheSchema) {
  const std::vector<std::string> pieces{"\"}", "\": ",  "\",",          "{\"",      "[[",     "]]",
                                        "}}",  "\\u00", "\\u",          "\\\"",     "tru",    "null,",
                                        "  ",  "\n  ",  ", \"",         "name",     "age\":", "12",
                                        "0.",  "e+",    "\u65e5\u672c", "\u00e9\"", "\":[{\""};
  const auto vocabulary = byte_vocabulary(pieces);
  const auto bytes_of = [&](TokenId id) {
    if (id > 256) return pieces[static_cast<size_t>(id) - 257];
    return id > 0 ? std::string(1, static_cast<char>(id - 1)) : std::string();
  };
  size_t all_ended = 0;
  for (const auto& [name, text] : test::kSchemaCases) {
    SCOPED_TRACE(std::string(name));
    const json::value schema = json::parse(text);
    ASSERT_OK_AND_ASSIGN(const auto grammar, Grammar::from_json_schema(schema, vocabulary));
    size_t ended = 0;
    for (uint32_t seed = 0; seed < 40; ++seed) {
      const auto walked = test::random_walk(grammar, {.seed = seed, .max_tokens = 600, .hurry_after = 60},
                                            bytes_of, {test::kEnd});
      if (!walked) continue;
      ++ended;
      boost::system::error_code failure;
      const json::value value = json::parse(*walked, failure);
      ASSERT_FALSE(failure) << *walked << ": " << failure.message();
      EXPECT_TRUE(test::is_valid(value, schema, schema)) << *walked;
    }
    EXPECT_GT(ended, 0U);
    all_ended += ended;
  }
  EXPECT_GT(all_ended, 400U);
}

TEST(Schema, EveryValidDocumentIsTakenInAllLayouts) {
  for (const auto& [name, text] : test::kSchemaCases) {
    SCOPED_TRACE(std::string(name));
    const json::value schema = json::parse(text);
    const auto grammar = grammar_of(text);
    for (uint32_t seed = 0; seed < 30; ++seed) {
      const json::value document = test::DocumentMaker(schema, seed).make();
      ASSERT_TRUE(test::is_valid(document, schema, schema)) << to_json(document);
      for (const Layout layout : {Layout::kCompact, Layout::kSpaced, Layout::kIndented})
        EXPECT_TRUE(matches(grammar, test::to_text(document, layout))) << test::to_text(document, layout);
    }
  }
}

TEST(Schema, InvalidChangesOfDocumentsAreRefused) {
  size_t refused = 0;
  for (const auto& [name, text] : test::kSchemaCases) {
    SCOPED_TRACE(std::string(name));
    const json::value schema = json::parse(text);
    const auto grammar = grammar_of(text);
    std::mt19937 random(7);
    for (uint32_t seed = 0; seed < 60; ++seed) {
      const json::value document = test::mutated(test::DocumentMaker(schema, seed).make(), random);
      if (test::is_valid(document, schema, schema)) continue;
      ++refused;
      EXPECT_FALSE(matches(grammar, test::to_text(document, Layout::kCompact))) << to_json(document);
    }
  }
  EXPECT_GT(refused, 300U);
}

TEST(Schema, MembersComeInTheOrderOfTheSchema) {
  constexpr std::string_view kSchema =
      R"({"type":"object","properties":{"b":{"type":"null"},"a":{"type":"null"},"c":{"type":"null"}},"required":["a"]})";
  EXPECT_TRUE(allows(kSchema, R"({"b":null,"a":null,"c":null})"));
  EXPECT_TRUE(allows(kSchema, R"({"a":null})"));
  EXPECT_TRUE(allows(kSchema, R"({"a":null,"c":null})"));
  EXPECT_FALSE(allows(kSchema, R"({"a":null,"b":null})"));
  EXPECT_FALSE(allows(kSchema, R"({"b":null})"));
  EXPECT_FALSE(allows(kSchema, R"({"a":null,"d":null})"));
  EXPECT_FALSE(allows(kSchema, R"({"a":null,"a":null})"));
  EXPECT_FALSE(allows(kSchema, R"({,"a":null})"));
  EXPECT_FALSE(allows(kSchema, R"({"a":null,})"));
}

TEST(Schema, OtherPropertiesAreNoneOfTheNamedOnes) {
  constexpr std::string_view kSchema =
      R"({"type":"object","properties":{"ab":{"type":"boolean"},"a\n":{"type":"boolean"}},"additionalProperties":{"type":"null"}})";
  for (const char* key : {"a", "abc", "b", "", "ax", "aa\\u0062", "b\\/", "\u00e9"})
    EXPECT_TRUE(allows(kSchema, std::string("{\"") + key + "\":null}")) << key;
  // However the name is spelled; so what might begin one is spelled in the shortest way only.
  for (const char* key : {"ab", "\\u0061b", "a\\u0062", "a\\n", "a\\u000a", "\\u0061"})
    EXPECT_FALSE(allows(kSchema, std::string("{\"") + key + "\":null}")) << key;
  EXPECT_TRUE(allows(kSchema, R"({"ab":true,"x":null})"));
  EXPECT_FALSE(allows(kSchema, R"({"x":null,"ab":true})"));
}

TEST(Schema, StringsAreThoseOfTheRfcAndValidUtf8) {
  constexpr std::string_view kSchema = R"({"type":"string"})";
  for (const char* text : {R"("")", R"("a\"\\\/\b\f\n\r\t")", R"("\u00e9\uD83D\uDE00\ud7ff\uE000")",
                           "\"\u00e9\u65e5\U0001F600\x7f\""})
    EXPECT_TRUE(allows(kSchema, text)) << text;
  for (const char* text :
       {"\"\n\"", "\"\t\"", "\"\x01\"", R"("\x")", R"("\u12g4")", R"("\uD83D")", R"("\uDE00")",
        R"("\uD83D\u0041")", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"a", "'a'"})
    EXPECT_FALSE(allows(kSchema, text)) << text;
}

TEST(Schema, NumbersAreThoseOfTheRfcAndEnd) {
  constexpr std::string_view kSchema = R"({"type":"number"})";
  for (const char* text : {"0", "-0", "10", "-1.5", "0.001", "1e5", "1E+05", "2.5e-289",
                           "999999999999999999.999999999999999999e289"})
    EXPECT_TRUE(allows(kSchema, text)) << text;
  for (const char* text :
       {"00", "01", ".5", "1.", "+1", "1e", "--1", "1e290", "1000000000000000000", "NaN", "Infinity", "0x1"})
    EXPECT_FALSE(allows(kSchema, text)) << text;
  EXPECT_TRUE(allows(R"({"type":"integer"})", "-999999999999999999"));
  for (const char* text : {"1.0", "1e2", "-0", "1000000000000000000"})
    EXPECT_FALSE(allows(R"({"type":"integer"})", text)) << text;
}

TEST(Schema, WhiteSpaceIsASpaceOrALineWithItsIndent) {
  constexpr std::string_view kSchema = R"({"type":"array","items":{"type":"null"}})";
  for (const char* text :
       {"[null,null]", "[ null, null ]", "[\n  null,\n  null\n]", "[]", "[ ]", "[\n\t\tnull\n]"})
    EXPECT_TRUE(allows(kSchema, text)) << text;
  for (const char* text : {"[  null]", " []", "[] ", "[\n\nnull]", "[null ,null]", "[\r\nnull]"})
    EXPECT_FALSE(allows(kSchema, text)) << text;
  EXPECT_TRUE(allows(kSchema, "[\n" + std::string(32, ' ') + "null]"));
  EXPECT_FALSE(allows(kSchema, "[\n" + std::string(33, ' ') + "null]"));
}

TEST(Schema, UnsupportedKeywordsAreNamedWithTheirPlace) {
  EXPECT_ERROR(compiled(R"({"type":"object","properties":{"a~/b":{"not":{}}}})"), kInvalidArgument,
               "JSON Schema #/properties/a~0~1b/not: this keyword is not supported");
  for (const char* keyword :
       {"patternProperties", "propertyNames", "if", "then", "contains", "multipleOf", "dependentRequired",
        "unevaluatedProperties", "$anchor", "$dynamicRef", "additionalItems", "typo"})
    EXPECT_ERROR(compiled(std::string(R"({")") + keyword + R"(":{}})"), kInvalidArgument, keyword);
  EXPECT_ERROR(compiled(R"({"type":"array","uniqueItems":true})"), kInvalidArgument, "#/uniqueItems");
  EXPECT_OK(compiled(R"({"type":"array","uniqueItems":false})"));
  EXPECT_ERROR(compiled(R"({"type":"string","format":"color"})"), kInvalidArgument,
               "#/format: \"color\" is not supported");
  EXPECT_ERROR(compiled(R"({"type":"string","pattern":"(?=a)b"})"), kInvalidArgument, "#/pattern: at offset");
  EXPECT_ERROR(compiled(R"({"$ref":"https://example.com/s"})"), kInvalidArgument, "#/$ref");
  EXPECT_ERROR(compiled(R"({"enum":["a"],"minLength":2})"), kInvalidArgument, "#/minLength");
  EXPECT_ERROR(compiled(R"({"properties":{"a":{}},"minProperties":1})"), kInvalidArgument, "#/minProperties");
}

TEST(Schema, WrongTypesOfKeywordsAreErrors) {
  for (const auto& [schema, part] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"("x")", "JSON Schema #: expected a schema"},
           {R"({"type":"text"})", "#/type: \"text\" is no type"},
           {R"({"type":7})", "#/type: expected a type"},
           {R"({"enum":7})", "#/enum: expected an array"},
           {R"({"required":["a",7]})", "#/required: expected an array of strings"},
           {R"({"minLength":-1})", "#/minLength: expected an integer"},
           {R"({"minItems":1.5})", "#/minItems: expected an integer"},
           {R"({"minimum":"1"})", "#/minimum: expected a number"},
           {R"({"properties":{"a":7}})", "#/properties: expected an object of schemas"},
           {R"({"items":[{}]})", "#/items: expected a schema"},
           {R"({"anyOf":[]})", "#/anyOf: expected an array of schemas"},
           {R"({"allOf":7})", "#/allOf: expected an array of schemas"},
           {R"({"$ref":7})", "#/$ref: expected a string"},
           {R"({"$ref":"#/$defs/x"})", "#/$ref: there is nothing at"}})
    EXPECT_ERROR(compiled(schema), kInvalidArgument, part) << schema;
}

TEST(Schema, ContradictionsAreErrors) {
  for (const char* schema :
       {R"({"type":"integer","minimum":5,"maximum":4})",
        R"({"type":"integer","exclusiveMinimum":4,"exclusiveMaximum":5})",
        R"({"type":"number","minimum":1,"exclusiveMaximum":1})",
        R"({"type":"string","minLength":3,"maxLength":2})", R"({"type":"array","minItems":3,"maxItems":2})",
        R"({"type":"string","enum":[1,2]})", R"({"enum":[]})",
        R"({"allOf":[{"type":"string"},{"type":"integer"}]})",
        R"({"type":"string","pattern":"^a{3}$","maxLength":2})",
        R"({"type":"object","properties":{},"required":["a"],"additionalProperties":false})",
        R"({"type":"object","properties":{"a":false},"required":["a"]})", R"(false)",
        R"({"type":"array","items":false,"minItems":1})", R"({"$ref":"#"})",
        R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})"})
    EXPECT_ERROR(compiled(schema), kInvalidArgument, "") << schema;
}

TEST(Schema, BoundsOfIntegersAreExact) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 60; ++round) {
    const auto span = static_cast<int64_t>(std::pow(10, static_cast<double>(random() % 5)));
    int64_t low = static_cast<int64_t>(random() % static_cast<uint64_t>(2 * span + 1)) - span;
    int64_t high = low + static_cast<int64_t>(random() % static_cast<uint64_t>(span + 1));
    const auto grammar =
        grammar_of(fmt::format(R"({{"type":"integer","minimum":{},"maximum":{}}})", low, high));
    for (int64_t value = low - 12; value <= high + 12; value += std::max<int64_t>(1, (high - low) / 50))
      EXPECT_EQ(matches(grammar, std::to_string(value)), value >= low && value <= high)
          << value << " in " << low << ".." << high;
    for (const int64_t value : {low - 1, low, high, high + 1})
      EXPECT_EQ(matches(grammar, std::to_string(value)), value >= low && value <= high) << value;
  }
  EXPECT_TRUE(
      allows(R"({"type":"integer","minimum":0,"maximum":18446744073709551615})", "18446744073709551615"));
  EXPECT_FALSE(
      allows(R"({"type":"integer","minimum":0,"maximum":18446744073709551615})", "18446744073709551616"));
  EXPECT_TRUE(allows(R"({"type":"integer","minimum":-9223372036854775808})", "-9223372036854775808"));
  EXPECT_TRUE(allows(R"({"type":"integer","minimum":0.5,"exclusiveMaximum":2.5})", "2"));
  EXPECT_FALSE(allows(R"({"type":"integer","minimum":0.5,"exclusiveMaximum":2.5})", "0"));
}

TEST(Schema, BoundsOfNumbersAreExactDecimals) {
  constexpr std::string_view kSchema = R"({"type":"number","minimum":-1.25,"exclusiveMaximum":10.5})";
  for (const char* text :
       {"-1.25", "-1.250", "-1.2", "-1", "-0.5", "0", "0.0", "10", "10.4", "10.499999", "9.999999"})
    EXPECT_TRUE(allows(kSchema, text)) << text;
  for (const char* text : {"-1.26", "-1.250001", "-2", "10.5", "10.50", "10.6", "11", "100", "-0", "1e0"})
    EXPECT_FALSE(allows(kSchema, text)) << text;
  constexpr std::string_view kSmall = R"({"type":"number","exclusiveMinimum":0.001,"maximum":0.0105})";
  for (const char* text : {"0.001001", "0.01", "0.0105", "0.010499"})
    EXPECT_TRUE(allows(kSmall, text)) << text;
  for (const char* text : {"0.001", "0", "0.0011e0", "0.0106", "1", "0.010501"})
    EXPECT_FALSE(allows(kSmall, text)) << text;
  EXPECT_TRUE(allows(R"({"type":"number","minimum":0})", "123456.5"));
  EXPECT_FALSE(allows(R"({"type":"number","exclusiveMinimum":0})", "0"));
}

TEST(Schema, LengthsCountCharactersNotBytesOrEscapes) {
  constexpr std::string_view kSchema = R"({"type":"string","minLength":2,"maxLength":3})";
  for (const char* text : {R"("ab")", "\"\u65e5\u672c\U0001F600\"", R"("\n\u00e9")", R"("\uD83D\uDE00a")"})
    EXPECT_TRUE(allows(kSchema, text)) << text;
  for (const char* text : {R"("a")", R"("abcd")", R"("\uD83D\uDE00")"})
    EXPECT_FALSE(allows(kSchema, text)) << text;
  const auto grammar = grammar_of(R"({"type":"string","maxLength":20000})");
  EXPECT_TRUE(matches(grammar, "\"" + std::string(20000, 'x') + "\""));
  EXPECT_FALSE(matches(grammar, "\"" + std::string(20001, 'x') + "\""));
}

TEST(Schema, HostileSchemasAreErrorsAndFast) {
  std::string deep = "{}";
  for (int i = 0; i < 30; ++i) deep = R"({"items":)" + deep + "}";
  EXPECT_OK(compiled(deep));
  json::value deeper = json::object{};
  for (int i = 0; i < 2000; ++i) deeper = json::object{{"items", std::move(deeper)}};
  EXPECT_ERROR(Grammar::from_json_schema(deeper, byte_vocabulary()), kInvalidArgument, "nested");
  json::value all = json::object{};
  for (int i = 0; i < 2000; ++i) all = json::object{{"allOf", json::array{std::move(all)}}};
  EXPECT_ERROR(Grammar::from_json_schema(all, byte_vocabulary()), kInvalidArgument, "nested");
  EXPECT_ERROR(compiled(R"({"allOf":[{"$ref":"#"}]})"), kInvalidArgument, "refers to itself");
  // Twice as many at each level.
  std::string doubling = R"({"$ref":"#/$defs/d40","$defs":{"d0":{"type":"object"})";
  for (int i = 1; i <= 40; ++i)
    doubling +=
        fmt::format(R"(,"d{0}":{{"allOf":[{{"$ref":"#/$defs/d{1}"}},{{"$ref":"#/$defs/d{1}"}}]}})", i, i - 1);
  EXPECT_ERROR(compiled(doubling + "}}"), kInvalidArgument, "schemas must be merged");
  std::string many = R"({"allOf":[)";
  for (int i = 0; i < 12; ++i)
    many += std::string(i == 0 ? "" : ",") + R"({"anyOf":[{"minimum":1},{"minLength":2}]})";
  EXPECT_ERROR(compiled(many + "]}"), kInvalidArgument, "alternatives");
  EXPECT_ERROR(compiled(R"({"type":"string","maxLength":1000000})"), kInvalidArgument, "#/maxLength");
  EXPECT_ERROR(compiled(R"({"type":"string","pattern":"(a|b)*a(a|b){16}"})"), kInvalidArgument, "states");
  EXPECT_ERROR(compiled(R"({"type":"string","pattern":")" + std::string(10000, '(') + R"("})"),
               kInvalidArgument, "nested");
}

}  // namespace
}  // namespace kvern::text::grammar
