#include "text/grammar/gbnf_parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/result_matchers.h"
#include "text/grammar/grammar_support.h"

namespace kvern::text::grammar {
namespace {

using test::byte_vocabulary;
using test::matches;

std::shared_ptr<const Grammar> parsed(std::string_view text) {
  auto grammar = Grammar::from_gbnf(text, byte_vocabulary());
  EXPECT_OK(grammar) << text;
  return grammar ? *grammar : nullptr;
}
Result<std::shared_ptr<const Grammar>> failed(std::string_view text) {
  return Grammar::from_gbnf(text, byte_vocabulary());
}

TEST(Gbnf, LiteralsSequencesAndAlternatives) {
  const auto grammar = parsed("root ::= \"a\" other | \"x\"\nother ::= \"b\" | \"\"\n");
  EXPECT_TRUE(matches(grammar, "ab"));
  EXPECT_TRUE(matches(grammar, "a"));
  EXPECT_TRUE(matches(grammar, "x"));
  EXPECT_FALSE(matches(grammar, "xb"));
  EXPECT_FALSE(matches(grammar, ""));
}

TEST(Gbnf, RepetitionsOfEveryKind) {
  EXPECT_TRUE(matches(parsed("root ::= [a]*"), "aaa"));
  EXPECT_TRUE(matches(parsed("root ::= [a]*"), ""));
  EXPECT_FALSE(matches(parsed("root ::= [a]+"), ""));
  EXPECT_FALSE(matches(parsed("root ::= \"a\"?"), "aa"));
  for (const auto& [braces, least, most] :
       {std::tuple("{2}", 2, 2), std::tuple("{2,}", 2, 9), std::tuple("{2,4}", 2, 4),
        std::tuple("{0,1}", 0, 1), std::tuple("{ 1 , 3 }", 1, 3), std::tuple("{0}", 0, 0)}) {
    const auto grammar = parsed(std::string("root ::= (\"a\" \"b\")") + braces);
    std::string text;
    for (int count = 0; count < 10; ++count, text += "ab")
      EXPECT_EQ(matches(grammar, text), count >= least && count <= most) << braces << count;
  }
  EXPECT_TRUE(matches(parsed("root ::= (\"a\"*)* \"b\""), "aaab"));
}

TEST(Gbnf, ClassesWithRangesEscapesAndNegation) {
  const auto grammar = parsed(R"(root ::= [a-cx\]\-\x41\u00e9\U0001F600-]+)");
  EXPECT_TRUE(matches(grammar, "abcx]-A\u00e9\U0001F600"));
  EXPECT_FALSE(matches(grammar, "d"));
  EXPECT_FALSE(matches(grammar, "\\"));
  const auto others = parsed("root ::= [^\\n\"]+");
  EXPECT_TRUE(matches(others, "caf\u00e9 \u65e5\u672c \U0001F600"));
  EXPECT_FALSE(matches(others, "a\nb"));
  EXPECT_TRUE(matches(parsed("root ::= [^]"), "\n"));
  EXPECT_TRUE(matches(parsed("root ::= [\u3041-\u309f]+"), "\u3042\u3044"));
}

TEST(Gbnf, TheDotIsOneCharacterOfValidUtf8) {
  const auto grammar = parsed("root ::= .");
  for (const char* text : {"a", "\n", "\u00e9", "\u65e5", "\U0001F600", "\x7f"})
    EXPECT_TRUE(matches(grammar, text)) << text;
  for (const char* text : {"ab", "\x80", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "\xe6\x97"})
    EXPECT_FALSE(matches(grammar, text));
}

TEST(Gbnf, CommentsAndLineEndsWhereTheyMayBe) {
  const auto grammar = parsed(
      "# a comment\r\n\r\nroot ::= # the root\n  ( \"a\" # one\n    \"b\"\n  )+ |\n  \"c\"\n  | \"d\" # and "
      "more\n"
      "unused-rule_2 ::= \"never\"\n");
  EXPECT_TRUE(matches(grammar, "abab"));
  EXPECT_TRUE(matches(grammar, "c"));
  EXPECT_TRUE(matches(grammar, "d"));
}

TEST(Gbnf, RecursionThroughBracketsAndOnTheRight) {
  const auto brackets = parsed("root ::= \"(\" root \")\" | \"x\"");
  EXPECT_TRUE(matches(brackets, "(((x)))"));
  EXPECT_FALSE(matches(brackets, "((x)"));
  const auto list = parsed("root ::= item | item \",\" root\nitem ::= [0-9]+");
  EXPECT_TRUE(matches(list, "1,22,333"));
  EXPECT_FALSE(matches(list, "1,,2"));
}

TEST(Gbnf, ErrorsSayLineColumnRuleAndWhatWasExpected) {
  EXPECT_ERROR(failed("root ::= \"a\n"), kInvalidArgument,
               "rule root: line 1, column 12: expected \" at the end");
  EXPECT_ERROR(failed("root ::= \"a\"\nb ::= [a-"), kInvalidArgument, "rule b: line 2, column 7: expected ]");
  EXPECT_ERROR(failed("root ::= (\"a\""), kInvalidArgument, "line 1, column 10: expected ) for this (");
  EXPECT_ERROR(failed("root ::= \"a\")"), kInvalidArgument, "column 13: there is no ( for this )");
  EXPECT_ERROR(failed("root = \"a\""), kInvalidArgument, "column 6: expected ::=");
  EXPECT_ERROR(failed("root ::= \"\\q\""), kInvalidArgument, "column 11: unknown escape");
  EXPECT_ERROR(failed("root ::= [\\x4]"), kInvalidArgument, "expected 2 hexadecimal digits");
  EXPECT_ERROR(failed("root ::= \"\\ud800\""), kInvalidArgument, "U+D800 is not a character");
  EXPECT_ERROR(failed("root ::= [z-a]"), kInvalidArgument, "does not fall");
  EXPECT_ERROR(failed("root ::= []"), kInvalidArgument, "expected characters in the class");
  EXPECT_ERROR(failed("root ::= \"a\"{3,2}"), kInvalidArgument, "bounds do not fall");
  EXPECT_ERROR(failed("root ::= \"a\"{"), kInvalidArgument, "expected a number in {}");
  EXPECT_ERROR(failed("root ::= *"), kInvalidArgument, "column 10: expected a literal");
  EXPECT_ERROR(failed("root ::= \"a\"\nroot ::= \"b\""), kInvalidArgument,
               "line 2, column 1: rule root is defined twice");
  EXPECT_ERROR(failed("start ::= \"a\""), kInvalidArgument, "expected a rule named root");
  EXPECT_ERROR(failed(""), kInvalidArgument, "expected a rule named root");
  EXPECT_ERROR(failed("root ::= \"a\"\n\u00e9 ::= \"b\""), kInvalidArgument,
               "line 2, column 1: expected the name of a rule");
  EXPECT_ERROR(failed("root ::= \"\xff\""), kInvalidArgument, "expected UTF-8");
}

TEST(Gbnf, UndefinedRulesAreNamedWhereTheyAreUsed) {
  EXPECT_ERROR(failed("root ::= a\na ::= \"x\" missing"), kInvalidArgument,
               "rule a: line 2, column 11: rule missing is used but not defined");
}

TEST(Gbnf, LeftRecursionIsNamed) {
  EXPECT_ERROR(failed("root ::= a\na ::= b \"x\" | \"y\"\nb ::= a"), kInvalidArgument,
               "left recursion: a -> b -> a");
  EXPECT_ERROR(failed("root ::= ws root \"x\" | \"y\"\nws ::= \" \"*"), kInvalidArgument,
               "left recursion: root -> root");
  // Only rules that are used count.
  EXPECT_OK(failed("root ::= \"x\"\nb ::= b \"y\" | \"z\""));
}

TEST(Gbnf, AGrammarThatMatchesNothingIsAnError) {
  EXPECT_ERROR(failed("root ::= \"a\" root"), kInvalidArgument, "no text matches");
  EXPECT_ERROR(failed("root ::= \"a\" b\nb ::= \"c\" b"), kInvalidArgument, "no text matches");
  // A dead end beside a way out is left out.
  EXPECT_TRUE(matches(parsed("root ::= \"a\" b | \"ac\"\nb ::= \"c\" b"), "ac"));
}

TEST(Gbnf, HostileSizesAreErrorsAndFast) {
  const std::string open(60'000, '(');
  EXPECT_ERROR(failed("root ::= " + open + "\"a\"" + std::string(60'000, ')')), kInvalidArgument,
               "nested more than");
  EXPECT_ERROR(failed("root ::= " + open), kInvalidArgument, "nested more than");
  EXPECT_ERROR(failed("root ::= \"a\"{1000000}"), kInvalidArgument, "repetition of more than");
  EXPECT_ERROR(failed("root ::= \"a\"{99999999999999999999}"), kInvalidArgument, "repetition of more than");
  EXPECT_ERROR(failed("root ::= \"a\"" + std::string(60'000, '*')), kInvalidArgument, "fewer repetitions");
  EXPECT_ERROR(failed(std::string(2'000'000, 'a')), kInvalidArgument, "more than 1048576");
  EXPECT_ERROR(failed("root ::= ((([a-z]{100} \"x\"{0,90000}){90000}){90000}){90000}"), kInvalidArgument,
               "the grammar is too");
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "r" + std::to_string(i) + " ::= \"a\"\n";
  EXPECT_ERROR(failed(many), kInvalidArgument, "more than 10000 rules");
  // 2^18 states, if they were made.
  EXPECT_ERROR(failed("root ::= [ab]* \"a\" [ab]{18}"), kInvalidArgument, "too complex");
}

std::string chain_of_rules(int count) {
  std::string text = "root ::= r0\n";
  for (int i = 0; i < count; ++i)
    text += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + " | \"b\" \"c\"\n";
  return text + "r" + std::to_string(count) + " ::= \"a\"\n";
}

TEST(Gbnf, AChainOfRulesIsFollowedOrRefused) {
  EXPECT_TRUE(matches(parsed(chain_of_rules(150)), "a"));
  EXPECT_ERROR(failed(chain_of_rules(5000)), kInvalidArgument, "rules call each other before a character");
}

TEST(Gbnf, RepeatedRepetitionsAreCountedNotCopied) {
  const auto grammar = parsed("root ::= (([a-z]{100}){100}){100}");
  GrammarState state(grammar);
  EXPECT_TRUE(test::takes_bytes(state, std::string(5000, 'q')));
  EXPECT_FALSE(test::may_end(state));
}

TEST(Gbnf, TokensByIdAndByName) {
  const auto vocabulary = byte_vocabulary({"think"}, {"<think>", "</think>"});
  ASSERT_OK_AND_ASSIGN(const auto grammar,
                       Grammar::from_gbnf("root ::= <think> !</think>* <[259]> \"x\"", vocabulary));
  constexpr TokenId kThink = 258;
  constexpr TokenId kThinkEnd = 259;
  GrammarState state(grammar);
  TokenMask mask;
  state.fill_mask(mask);
  EXPECT_EQ(test::tokens_in(mask), std::vector<TokenId>{kThink});
  EXPECT_FALSE(state.accept(test::byte_token('<')));
  ASSERT_TRUE(state.accept(kThink));
  state.fill_mask(mask);
  // Any token but the end of the text, which is none.
  EXPECT_EQ(test::tokens_in(mask).size(), vocabulary->size() - 1);
  ASSERT_TRUE(state.accept(kThink));
  ASSERT_TRUE(state.accept(test::byte_token('q')));
  ASSERT_TRUE(state.accept(kThinkEnd));
  state.fill_mask(mask);
  EXPECT_EQ(test::tokens_in(mask), std::vector<TokenId>{test::byte_token('x')});
  EXPECT_ERROR(Grammar::from_gbnf("root ::= <nothing>", vocabulary), kInvalidArgument, "no token <nothing>");
  EXPECT_ERROR(Grammar::from_gbnf("root ::= <[260]>", vocabulary), kInvalidArgument, "no token 260");
}

TEST(Gbnf, ATokenThatEndsTheTextIsNoPartOfIt) {
  const auto vocabulary = test::byte_vocabulary();
  const std::string end = fmt::format("<[{}]>", test::kEnd);
  for (const std::string& text : {end, "\"a\" " + end, "\"a\" | \"b\" " + end + "?"}) {
    EXPECT_ERROR(Grammar::from_gbnf("root ::= " + text, vocabulary), kInvalidArgument, "ends the text");
    EXPECT_ERROR(Grammar::from_gbnf("root ::= " + text, vocabulary), kInvalidArgument, "line 1");
  }
  EXPECT_OK(Grammar::from_gbnf("root ::= !" + end, vocabulary));
}

TEST(Gbnf, SchemasAreCalledByName) {
  const std::vector<NamedSchema> schemas{{.name = "args", .schema = json::parse(R"({"type":"integer"})")}};
  ASSERT_OK_AND_ASSIGN(const auto grammar, Grammar::from_gbnf("root ::= \"f(\" args (\", \" args)* \")\"",
                                                              byte_vocabulary(), schemas));
  EXPECT_TRUE(matches(grammar, "f(1, -20)"));
  EXPECT_FALSE(matches(grammar, "f(x)"));
  const std::vector<NamedSchema> wrong{{.name = "args", .schema = json::parse(R"({"not":{}})")}};
  EXPECT_ERROR(Grammar::from_gbnf("root ::= args", byte_vocabulary(), wrong), kInvalidArgument,
               "#/not of schema args");
}

// The forms of the examples that llama.cpp publishes: white space rules of their own, groups over lines,
// nested repetition.
TEST(Gbnf, AJsonGrammarInTheFormOfThePublishedOnes) {
  const auto grammar = parsed(R"(
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws

object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws

array  ::=
  "[" ws (
            value
    ("," ws value)*
  )? "]" ws

string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws

number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws

# one space, or a line
ws ::= | " " | "\n" [ \t]{0,20}
)");
  EXPECT_TRUE(matches(grammar, R"({"a": [1, -2.5e3, true, {"b": "\u00e9\n"}], "c": null})"));
  EXPECT_FALSE(matches(grammar, R"([1])"));
  EXPECT_FALSE(matches(grammar, R"({"a" 1})"));
}

}  // namespace
}  // namespace kvern::text::grammar
