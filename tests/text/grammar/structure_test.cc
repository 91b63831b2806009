#include "text/grammar/structure.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"
#include "text/grammar/grammar_support.h"

namespace kvern::text {
namespace {

using test::byte_token;
using test::byte_vocabulary;
using test::has;
using test::matches;

const json::value kInteger = json::object{{"type", "integer"}};

StructuredPart call(const std::string& name) {
  return {
      .begin = "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": ",
      .schema = json::parse(R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})"),
      .end = "}\n</tool_call>"};
}
std::shared_ptr<const Grammar> grammar_of(
    const Structure& structure, std::shared_ptr<const GrammarVocabulary> vocabulary = byte_vocabulary()) {
  auto grammar = Grammar::from_structure(structure, std::move(vocabulary));
  EXPECT_OK(grammar);
  return grammar ? *grammar : nullptr;
}

const std::string kCallF = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\": 1}}\n</tool_call>";
const std::string kCallG = "<tool_call>\n{\"name\": \"g\", \"arguments\": {\"n\":-2}}\n</tool_call>";

TEST(Structure, ARequiredCallIsOneOfTheTools) {
  const auto grammar = grammar_of({.parts = {call("f"), call("g")}, .max_parts = 1});
  EXPECT_TRUE(matches(grammar, kCallF));
  EXPECT_TRUE(matches(grammar, kCallG));
  EXPECT_FALSE(matches(grammar, ""));
  EXPECT_FALSE(matches(grammar, "Hello"));
  EXPECT_FALSE(matches(grammar, kCallF + kCallG));
  EXPECT_FALSE(matches(grammar, "<tool_call>\n{\"name\": \"h\", \"arguments\": {\"n\": 1}}\n</tool_call>"));
  EXPECT_FALSE(matches(grammar, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"m\": 1}}\n</tool_call>"));
}

TEST(Structure, CallsAreRepeatedWithTheirSeparator) {
  const auto grammar = grammar_of({.parts = {call("f"), call("g")}, .max_parts = 3, .separator = "\n"});
  EXPECT_TRUE(matches(grammar, kCallF + "\n" + kCallG));
  EXPECT_TRUE(matches(grammar, kCallF + "\n" + kCallG + "\n" + kCallF));
  EXPECT_FALSE(matches(grammar, kCallF + kCallG));
  EXPECT_FALSE(matches(grammar, kCallF + "\n" + kCallG + "\n" + kCallF + "\n" + kCallF));
}

TEST(Structure, FreeTextMayComeFirstAndCannotHideACall) {
  const auto grammar = grammar_of({.parts = {call("f")}, .free_before = true, .triggers = {"<tool_call>"}});
  EXPECT_TRUE(matches(grammar, kCallF));
  EXPECT_TRUE(matches(grammar, "I will call < <tool <tool_ <<tool_call" + kCallF));
  EXPECT_TRUE(matches(grammar, "h\u00e9 \U0001F600\n\n" + kCallF));
  EXPECT_FALSE(matches(grammar, "only text"));
  EXPECT_FALSE(matches(grammar, kCallF + " and text"));
  // Once the trigger is written, the call follows.
  GrammarState state(grammar);
  EXPECT_TRUE(test::takes_bytes(state, "text <tool_call>"));
  EXPECT_FALSE(test::takes_bytes(state, "x"));
  EXPECT_TRUE(test::takes_bytes(state, "\n{\"name\": \"f\""));
}

TEST(Structure, CallsMayBeOptionalAndTextMayStandAllAround) {
  const auto grammar = grammar_of({.parts = {call("f"), call("g")},
                                   .min_parts = 0,
                                   .free_before = true,
                                   .free_between = true,
                                   .free_after = true,
                                   .triggers = {"<tool_call>"}});
  EXPECT_TRUE(matches(grammar, ""));
  EXPECT_TRUE(matches(grammar, "no call, 1 < 2, <tool"));
  EXPECT_TRUE(matches(grammar, "a" + kCallF + "b" + kCallG + "c"));
  EXPECT_TRUE(matches(grammar, kCallF + kCallG));
  EXPECT_FALSE(matches(grammar, "a <tool_call> b"));
  const auto exactly_two = grammar_of(
      {.parts = {call("f")}, .min_parts = 2, .max_parts = 2, .free_between = true, .triggers = {"<tool"}});
  EXPECT_TRUE(matches(exactly_two, kCallF + "x" + kCallF));
  EXPECT_FALSE(matches(exactly_two, kCallF));
  EXPECT_FALSE(matches(exactly_two, kCallF + kCallF + kCallF));
}

TEST(Structure, TriggersThatOverlapAreFoundWhereTheyFirstEnd) {
  const auto grammar = grammar_of({.parts = {{.begin = "aba", .schema = kInteger, .end = ""},
                                             {.begin = "bb", .schema = kInteger, .end = "!"}},
                                   .free_before = true});
  EXPECT_TRUE(matches(grammar, "aaba7"));
  EXPECT_TRUE(matches(grammar, "abb7!"));
  EXPECT_FALSE(matches(grammar, "abaaba7"));  // the first aba needs its number
  EXPECT_FALSE(matches(grammar, "abb7"));
}

TEST(Structure, ControlTokensMayStandForTheirSpelling) {
  const auto vocabulary = byte_vocabulary({}, {"[TOOL_CALLS]", "[/END]"});
  constexpr TokenId kCalls = 257;
  constexpr TokenId kCallsEnd = 258;
  const auto grammar = grammar_of({.parts = {{.begin = "[TOOL_CALLS]f", .schema = kInteger, .end = "[/END]"}},
                                   .max_parts = 1,
                                   .free_before = true,
                                   .triggers = {"[TOOL_CALLS]"}},
                                  vocabulary);
  EXPECT_TRUE(matches(grammar, "text [TOOL_CALLS]f12[/END]"));
  GrammarState state(grammar);
  TokenMask mask;
  ASSERT_TRUE(test::takes_bytes(state, "text [TOOL"));
  state.fill_mask(mask);
  EXPECT_TRUE(has(mask, kCalls));
  EXPECT_FALSE(has(mask, kCallsEnd));
  ASSERT_TRUE(state.accept(kCalls));
  ASSERT_TRUE(test::takes_bytes(state, "f12"));
  state.fill_mask(mask);
  EXPECT_TRUE(has(mask, kCallsEnd));
  ASSERT_TRUE(state.accept(kCallsEnd));
  EXPECT_TRUE(state.finished());
}

TEST(Structure, WhatMakesNoSenseIsAnError) {
  const auto failed = [](const Structure& structure) {
    return Grammar::from_structure(structure, byte_vocabulary());
  };
  EXPECT_ERROR(failed({}), kInvalidArgument, "no parts");
  EXPECT_ERROR(failed({.parts = {call("f")}, .min_parts = 2, .max_parts = 1}), kInvalidArgument,
               "max_parts is 1");
  EXPECT_ERROR(failed({.parts = {call("f")}, .max_parts = 0}), kInvalidArgument, "max_parts is 0");
  EXPECT_ERROR(failed({.parts = {call("f")}, .separator = "\n", .free_between = true}), kInvalidArgument,
               "separator");
  EXPECT_ERROR(failed({.parts = {call("f")}, .free_before = true, .triggers = {"<other>"}}), kInvalidArgument,
               "no trigger");
  EXPECT_ERROR(failed({.parts = {{.begin = "", .schema = kInteger, .end = ""}}, .free_before = true}),
               kInvalidArgument, "empty trigger");
  EXPECT_ERROR(failed({.parts = {{.begin = "\xff", .schema = kInteger, .end = ""}}}), kInvalidArgument,
               "not UTF-8");
  EXPECT_ERROR(
      failed({.parts = {call("f"), {.begin = "g", .schema = json::parse(R"({"not":{}})"), .end = ""}}}),
      kInvalidArgument, "#/not of part 1");
}

}  // namespace
}  // namespace kvern::text
