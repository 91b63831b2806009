// Masks over a vocabulary so large that whole subtrees of it are decided at once, against trying every token.
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/result_matchers.h"
#include "text/grammar/grammar_support.h"

namespace kvern::text {
namespace {

using test::byte_vocabulary;
using test::has;
using test::tokens_in;

/// As published vocabularies are: words with and without a space, runs of one sign, signs behind words,
/// characters of all lengths, whole and cut off.
std::vector<std::string> pieces() {
  std::mt19937 random(7);
  const std::vector<std::string> parts{"a", "b",  "e",  "k",  "T",      "7",      "0",
                                       " ", "\"", ",",  "}",  "]",      ":",      ".",
                                       "-", "<",  "\\", "\n", "\u00e9", "\u65e5", "\U0001F600"};
  std::set<std::string> found;
  const auto add = [&](std::string text) {
    if (text.size() > 1) found.insert(std::move(text));
  };
  for (int i = 0; i < 1500; ++i) {
    std::string word(i % 3 == 0 ? " " : "");
    for (uint32_t left = 1 + random() % 6; left > 0; --left) {
      // Mostly letters.
      const size_t most = random() % 4 == 0 ? parts.size() : 6;
      word += parts[random() % most];
    }
    add(word);
    if (i % 10 == 0) add(word.substr(0, word.size() - 1));
    if (i % 10 == 1) add(word.substr(1));
  }
  for (size_t length = 2; length < 40; length += 3) {
    add(std::string(length, ' '));
    add(std::string(length, '-'));
    add("a" + std::string(length, 'b') + "\"");
  }
  return {found.begin(), found.end()};
}

/// Follows random texts; at each step a token is in the mask exactly when it is taken.
void compare(const std::shared_ptr<const Grammar>& grammar, uint32_t seed) {
  std::mt19937 random(seed);
  GrammarState state(grammar);
  TokenMask mask;
  for (int step = 0; step < 40 && !state.finished(); ++step) {
    state.fill_mask(mask);
    for (size_t id = 0; id < grammar->vocabulary().size(); ++id) {
      GrammarState copy = state;
      const auto token = static_cast<TokenId>(id);
      ASSERT_EQ(has(mask, token), copy.accept(token)) << "token " << id << ", step " << step;
    }
    const std::vector<TokenId> allowed = tokens_in(mask);
    // Of the end as seldom as possible.
    TokenId token = allowed[random() % allowed.size()];
    if (token == test::kEnd) token = allowed.back();
    ASSERT_TRUE(state.accept(token));
  }
}

TEST(MasksOfALargeVocabulary, AreWhatTryingEveryTokenGives) {
  const auto vocabulary = byte_vocabulary(pieces());
  const std::vector<std::string> schemas{
      R"({"type":"object"})", R"({"type":"array","items":{"type":"string","maxLength":12}})",
      R"({"type":"array","items":{"type":"number"}})",
      R"({"type":"object","properties":{"a":{"type":"string","maxLength":60},"b":{"type":"integer"}},
          "required":["a","b"],"additionalProperties":false})",
      R"({"type":"string","pattern":"^[a-z]{0,9}( [a-z0-9]{1,4})*$"})"};
  for (const std::string& schema : schemas) {
    const auto grammar = Grammar::from_json_schema(json::parse(schema), vocabulary);
    ASSERT_OK(grammar) << schema;
    for (uint32_t seed = 0; seed < 3; ++seed) compare(*grammar, seed);
  }
}

TEST(MasksOfALargeVocabulary, AreRightWhereTextIsFreeOrEndsAnywhere) {
  const auto vocabulary = byte_vocabulary(pieces());
  const std::vector<std::string> texts{
      "root ::= [^<]*", "root ::= .{0,30}", "root ::= word (\" \" word)*\nword ::= [a-z]{1,5} | [0-9]+",
      "root ::= [a-zA-Z0-9 ]* \"<\" item* \">\"\nitem ::= [^<>\\\"]+ | \"\\\"\" [^\\\"]{0,4} \"\\\"\"",
      // Characters of two bytes only; most subtrees look like text and are none here.
      "root ::= ([a-z] | [\\u0080-\\u07FF])*"};
  for (const std::string& text : texts) {
    const auto grammar = Grammar::from_gbnf(text, vocabulary);
    ASSERT_OK(grammar) << text;
    for (uint32_t seed = 0; seed < 3; ++seed) compare(*grammar, seed);
  }
}

}  // namespace
}  // namespace kvern::text
