#include "text/grammar/state_classes.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/result_matchers.h"
#include "text/grammar/compiled_grammar.h"
#include "text/grammar/grammar_support.h"

namespace kvern::text::grammar {
namespace {

std::shared_ptr<const Grammar> schema_grammar(const char* schema,
                                              std::shared_ptr<const GrammarVocabulary> vocabulary) {
  auto grammar = Grammar::from_json_schema(json::parse(schema), std::move(vocabulary));
  EXPECT_OK(grammar);
  return *grammar;
}

size_t different(const std::vector<StateId>& classes) {
  return std::set<StateId>(classes.begin(), classes.end()).size();
}

/// Equal, whatever the order of groups is.
std::set<std::pair<std::string, TokenId>> open_of(const StateMask& mask) {
  std::set<std::pair<std::string, TokenId>> open;
  for (const OpenTokens& group : mask.open)
    for (uint32_t i = 0; i < group.count; ++i) open.emplace(group.suffix, mask.open_tokens[group.begin + i]);
  return open;
}

TEST(StateClasses, OfALongStringAreFew) {
  const auto grammar = schema_grammar(R"({"type":"string","maxLength":500})", test::byte_vocabulary());
  const Automaton& automaton = compiled(*grammar).automaton();
  const auto near = state_classes(automaton, 8);
  const auto far = state_classes(automaton, 64);
  EXPECT_GT(automaton.states.size(), 5000U);
  EXPECT_LT(different(near), 300U);
  EXPECT_GT(different(far), different(near));
  // For all texts of the grammar, each of the 500 characters has states of its own.
  EXPECT_GT(different(state_classes(automaton, 5000)), 4 * different(far));
}

TEST(StateClasses, StandForTheMasksOfAllTheirStates) {
  std::vector<std::string> pieces;
  for (size_t length = 2; length <= 12; ++length) {
    pieces.emplace_back(length, 'a');
    pieces.push_back(std::string(length - 1, 'b') + "\"");
    pieces.push_back(std::string(length / 2, 'a') + "\",\"" + std::string(length / 2, 'b'));
    pieces.push_back("\u00e9" + std::string(length, '1'));
  }
  const auto vocabulary = test::byte_vocabulary(pieces);
  for (const char* schema :
       {R"({"type":"array","items":{"type":"string","maxLength":40}})",
        R"({"type":"object","additionalProperties":{"type":"string","pattern":"^[a-b]{3,30}$"}})",
        R"({"anyOf":[{"type":"string","maxLength":20},{"type":"array","items":{"type":"integer"}}]})"}) {
    const auto grammar = schema_grammar(schema, vocabulary);
    const Automaton& automaton = compiled(*grammar).automaton();
    const TokenTable& tokens = compiled(*grammar).tokens();
    const auto classes = state_classes(automaton, tokens.longest_token());
    EXPECT_LT(different(classes), classes.size());
    for (StateId state = 0; state < classes.size(); ++state) {
      if (classes[state] == state) continue;
      const StateMask mine = mask_of_state(automaton, state, tokens.short_tokens(), tokens.size());
      const StateMask other = mask_of_state(automaton, classes[state], tokens.short_tokens(), tokens.size());
      ASSERT_EQ(mine.dense, other.dense) << schema << ", state " << state;
      ASSERT_EQ(mine.sparse, other.sparse) << schema << ", state " << state;
      ASSERT_EQ(open_of(mine), open_of(other)) << schema << ", state " << state;
    }
  }
}

TEST(StateClasses, OfTooFewBytesAreNoGoodForLongTokens) {
  const auto vocabulary = test::byte_vocabulary({std::string(12, 'a')});
  const auto grammar = schema_grammar(R"({"type":"string","maxLength":40})", vocabulary);
  const Automaton& automaton = compiled(*grammar).automaton();
  const TokenTable& tokens = compiled(*grammar).tokens();
  const auto classes = state_classes(automaton, 3);
  bool differs = false;
  for (StateId state = 0; state < classes.size(); ++state) {
    const StateMask mine = mask_of_state(automaton, state, tokens.short_tokens(), tokens.size());
    const StateMask other = mask_of_state(automaton, classes[state], tokens.short_tokens(), tokens.size());
    differs = differs || mine.dense != other.dense || mine.sparse != other.sparse;
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace kvern::text::grammar
