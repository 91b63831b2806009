#include "text/grammar/grammar.h"

#include <thread>

#include <gtest/gtest.h>

#include "support/result_matchers.h"
#include "support/shared_data.h"
#include "text/grammar/grammar_support.h"
#include "text/grammar/vocabulary_checks.h"

namespace kvern::text {
namespace {

using test::byte_token;
using test::byte_vocabulary;
using test::has;
using test::takes_bytes;
using test::tokens_in;

std::shared_ptr<const Grammar> grammar_of(
    std::string_view text, std::shared_ptr<const GrammarVocabulary> vocabulary = byte_vocabulary()) {
  auto grammar = Grammar::from_gbnf(text, std::move(vocabulary));
  EXPECT_OK(grammar) << text;
  return grammar ? *grammar : nullptr;
}

TEST(GrammarState, EndTokensAreAllowedExactlyWhereTheTextMayEnd) {
  GrammarState state(grammar_of("root ::= \"a\" \"b\"?"));
  TokenMask mask;
  state.fill_mask(mask);
  EXPECT_EQ(tokens_in(mask), std::vector<TokenId>{byte_token('a')});
  EXPECT_FALSE(state.accept(test::kEnd));
  ASSERT_TRUE(state.accept(byte_token('a')));
  state.fill_mask(mask);
  EXPECT_EQ(tokens_in(mask), (std::vector<TokenId>{test::kEnd, byte_token('b')}));
  EXPECT_FALSE(state.finished());
  ASSERT_TRUE(state.accept(byte_token('b')));
  EXPECT_TRUE(state.finished());
  state.fill_mask(mask);
  EXPECT_EQ(tokens_in(mask), std::vector<TokenId>{test::kEnd});
}

// K36: text behind the end of a grammar.
TEST(GrammarState, NothingButAnEndFollowsAnEnd) {
  GrammarState state(grammar_of("root ::= \"a\"*"));
  ASSERT_TRUE(state.accept(byte_token('a')));
  EXPECT_FALSE(state.finished());
  ASSERT_TRUE(state.accept(test::kEnd));
  EXPECT_TRUE(state.finished());
  EXPECT_FALSE(state.accept(byte_token('a')));
  TokenMask mask;
  state.fill_mask(mask);
  EXPECT_EQ(tokens_in(mask), std::vector<TokenId>{test::kEnd});
}

TEST(GrammarState, ARefusedTokenChangesNothing) {
  GrammarState state(grammar_of("root ::= \"ab\" \"c\"", byte_vocabulary({"abx", "ab"})));
  EXPECT_FALSE(state.accept(257));  // abx
  EXPECT_FALSE(state.accept(-1));
  EXPECT_FALSE(state.accept(1 << 20));
  ASSERT_TRUE(state.accept(258));
  EXPECT_TRUE(takes_bytes(state, "c"));
  EXPECT_TRUE(state.finished());
}

TEST(GrammarState, CopiesGoTheirOwnWays) {
  GrammarState state(grammar_of("root ::= \"(\" root \")\" | \"x\""));
  ASSERT_TRUE(takes_bytes(state, "(("));
  GrammarState other = state;
  ASSERT_TRUE(takes_bytes(state, "(x)))"));
  ASSERT_TRUE(takes_bytes(other, "x))"));
  EXPECT_TRUE(state.finished());
  EXPECT_TRUE(other.finished());
  other = GrammarState(state);
  EXPECT_TRUE(other.finished());
}

// B47: tokens that go on behind the end of the grammar, in one token or several.
TEST(GrammarState, ATokenThatGoesOnBehindTheEndIsRefused) {
  const auto vocabulary = byte_vocabulary({"}", "}\n", "} {", "\"a\"}", "\"a\"} "});
  const auto grammar = Grammar::from_json_schema(
      json::parse(R"({"type":"object","properties":{"k":{"enum":["a","b"]}},"required":["k"]})"), vocabulary);
  ASSERT_OK(grammar);
  GrammarState state(*grammar);
  ASSERT_TRUE(takes_bytes(state, "{\"k\":"));
  TokenMask mask;
  state.fill_mask(mask);
  EXPECT_TRUE(has(mask, 260));   // "a"}
  EXPECT_FALSE(has(mask, 261));  // "a"} and a space
  ASSERT_TRUE(takes_bytes(state, "\"b\""));
  state.fill_mask(mask);
  EXPECT_TRUE(has(mask, 257));
  EXPECT_FALSE(has(mask, 258));
  EXPECT_FALSE(has(mask, 259));
}

TEST(GrammarState, DeepTextsNeedLittleAndStayRight) {
  GrammarState state(grammar_of("root ::= \"(\" root \")\" | \"x\" list\nlist ::= \"y\" list | \"\""));
  const std::string open(20'000, '(');
  ASSERT_TRUE(takes_bytes(state, open + "x" + std::string(20'000, 'y')));
  ASSERT_TRUE(takes_bytes(state, std::string(20'000, ')')));
  EXPECT_TRUE(state.finished());
}

TEST(GrammarState, AmbiguousGrammarsStayWithinTheirLimit) {
  // Each x may begin one of two lists that never differ.
  GrammarState state(
      grammar_of("root ::= \"x\" root a | \"x\" root b | \"x\"\na ::= \"y\"\nb ::= \"y\" | \"z\""));
  ASSERT_TRUE(takes_bytes(state, std::string(200, 'x')));
  EXPECT_TRUE(takes_bytes(state, std::string(199, 'y')));
  EXPECT_TRUE(test::may_end(state));
}

TEST(Grammar, AVocabularyThatLacksACharacterIsSeenAtOnce) {
  const auto vocabulary = test::vocabulary_of({"a", "b", "ab", "\u00e9"});
  EXPECT_ERROR(Grammar::from_gbnf("root ::= \"c\"", vocabulary), kInvalidArgument, "lacks characters");
  EXPECT_ERROR(Grammar::from_gbnf("root ::= \"a\" [x-z]+ | \"\u00e8\"", vocabulary), kInvalidArgument,
               "lacks characters");
  // A character that is a token as a whole does, and no way leads to one that is missing.
  GrammarState state(grammar_of("root ::= (\"\u00e9\" | \"\u00e8\" | \"a\" \"c\" | \"b\")+", vocabulary));
  TokenMask mask;
  state.fill_mask(mask);
  EXPECT_EQ(tokens_in(mask), (std::vector<TokenId>{2, 4}));
  ASSERT_TRUE(state.accept(4));
  state.fill_mask(mask);
  EXPECT_EQ(tokens_in(mask), (std::vector<TokenId>{test::kEnd, 2, 4}));
}

TEST(Grammar, TokensOfSeveralCallsAndReturnsAreWhole) {
  const auto vocabulary = byte_vocabulary({"[[", "]]]", "[1,", "1],[", "1]]"});
  GrammarState state(
      grammar_of("root ::= \"[\" (value (\",\" value)*)? \"]\"\nvalue ::= root | [0-9]", vocabulary));
  TokenMask mask;
  ASSERT_TRUE(state.accept(257));
  state.fill_mask(mask);
  EXPECT_FALSE(has(mask, 258));  // ]]] closes one too many
  EXPECT_TRUE(has(mask, 260));
  EXPECT_TRUE(has(mask, 261));
  ASSERT_TRUE(state.accept(260));
  ASSERT_TRUE(state.accept(257));
  state.fill_mask(mask);
  EXPECT_TRUE(has(mask, 258));
}

TEST(Grammar, ManyThreadsShareOne) {
  const auto vocabulary = byte_vocabulary({"\"}", "\":", "{\"a", "},", "]}"});
  ASSERT_OK_AND_ASSIGN(const auto grammar, Grammar::any_json_object(vocabulary));
  const std::string text = R"({"a":[1,{"b":"c\n"},[]],"d":{"e":null}})";
  std::vector<std::vector<TokenMask>> masks(4);
  std::vector<std::thread> threads;
  for (auto& seen : masks) {
    threads.emplace_back([&grammar, &seen, &text] {
      GrammarState state(grammar);
      for (const char byte : text) {
        state.fill_mask(seen.emplace_back());
        if (!state.accept(byte_token(byte))) seen.clear();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(masks[0].size(), text.size());
  for (const auto& seen : masks) EXPECT_EQ(seen, masks[0]);
}

TEST(Grammar, OnlyObjectsAreJsonObjects) {
  ASSERT_OK_AND_ASSIGN(const auto grammar, Grammar::any_json_object(byte_vocabulary()));
  EXPECT_TRUE(test::matches(grammar, R"({"a": {"b": [1, "x", true]}})"));
  EXPECT_TRUE(test::matches(grammar, "{}"));
  EXPECT_FALSE(test::matches(grammar, "[]"));
  EXPECT_FALSE(test::matches(grammar, "\"a\""));
}

TEST(Grammar, WorksWithTheVocabularyOfTheBundledModel) {
  const std::string path = test::source_file("models/kvern-tiny-8m-hf/tokenizer.json");
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, Tokenizer::from_json(test::read_file(path), "", path));
  test::check_with_vocabulary(*tokenizer);
}

}  // namespace
}  // namespace kvern::text
