#include "server/protocol/compiled_grammars.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/chat/reply_parser.h"
#include "engine/chat/tool_call_structure.h"
#include "server/protocol/support/protocol_world.h"
#include "support/result_matchers.h"

namespace kvern::server {
namespace {

std::shared_ptr<const text::GrammarVocabulary> vocabulary() {
  const engine::Engine& engine = test::bundled_engine();
  static const auto made = text::GrammarVocabulary::create(
      *engine.tokenizer(), static_cast<size_t>(engine.model().config().vocab), engine.end_tokens());
  return made;
}

/// True when the grammar takes exactly this text.
bool takes(const GrammarSource::Grammar& grammar, const std::string& text) {
  text::GrammarState state(grammar);
  for (const int32_t token : test::bundled_engine().tokenizer()->encode(text, {.add_special = false})) {
    if (!state.accept(token)) return false;
  }
  text::TokenMask mask;
  state.fill_mask(mask);
  const auto end = static_cast<size_t>(test::bundled_engine().end_tokens().front());
  return ((mask[end / 64] >> (end % 64)) & 1) != 0;
}

TEST(CompiledGrammars, each_kind_is_compiled_once) {
  CompiledGrammars grammars(vocabulary(), {});
  const json::value schema{{"type", "integer"}};
  ASSERT_OK_AND_ASSIGN(const auto first, grammars.json_schema(schema));
  ASSERT_OK_AND_ASSIGN(const auto again, grammars.json_schema(schema));
  EXPECT_EQ(first, again);
  EXPECT_TRUE(takes(first, "12"));
  EXPECT_FALSE(takes(first, "true"));
  // The same text means different things.
  ASSERT_OK_AND_ASSIGN(const auto gbnf, grammars.gbnf("root ::= \"{}\""));
  ASSERT_OK_AND_ASSIGN(const auto object, grammars.json_object());
  EXPECT_TRUE(takes(gbnf, "{}") && takes(object, "{}") && takes(object, "{\"a\": [1]}"));
  EXPECT_FALSE(takes(gbnf, "{\"a\": [1]}"));
  EXPECT_EQ(grammars.size(), 3U);
}

TEST(CompiledGrammars, errors_are_passed_on_and_not_kept) {
  CompiledGrammars grammars(vocabulary(), {});
  EXPECT_ERROR(grammars.gbnf("root := x"), kInvalidArgument, "");
  EXPECT_ERROR(grammars.json_schema({{"type", "nothing"}}), kInvalidArgument, "");
  EXPECT_EQ(grammars.size(), 0U);
}

TEST(CompiledGrammars, the_least_recently_used_are_forgotten) {
  CompiledGrammars grammars(vocabulary(), {.max_grammars = 2});
  ASSERT_OK_AND_ASSIGN(const auto a, grammars.gbnf("root ::= \"a\""));
  ASSERT_OK(grammars.gbnf("root ::= \"b\""));
  ASSERT_OK(grammars.gbnf("root ::= \"a\""));
  ASSERT_OK(grammars.gbnf("root ::= \"c\""));
  EXPECT_EQ(grammars.size(), 2U);
  ASSERT_OK_AND_ASSIGN(const auto same, grammars.gbnf("root ::= \"a\""));
  EXPECT_EQ(a, same);
  CompiledGrammars small(vocabulary(), {.max_bytes = 1});
  ASSERT_OK(small.json_object());
  ASSERT_OK(small.gbnf("root ::= \"a\""));
  EXPECT_EQ(small.size(), 1U) << "the newest stays, however large";
}

TEST(CompiledGrammars, demanded_calls_follow_their_schema) {
  CompiledGrammars grammars(vocabulary(), {});
  const engine::ToolFunction function{.name = "get",
                                      .parameters = {{"type", "object"},
                                                     {"properties", {{"city", {{"type", "string"}}}}},
                                                     {"required", json::array{"city"}},
                                                     {"additionalProperties", false}}};
  ASSERT_OK_AND_ASSIGN(const auto grammar, grammars.structure(engine::tool_call_structure(
                                               {function}, {.required = true, .several = true})));
  const std::string call =
      "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
  EXPECT_TRUE(takes(grammar, call));
  EXPECT_TRUE(takes(grammar, call + "\n" + call));
  EXPECT_FALSE(takes(grammar, "Hello"));
  EXPECT_FALSE(
      takes(grammar, "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"town\": \"Oslo\"}}\n</tool_call>"));
  ASSERT_OK_AND_ASSIGN(const auto single, grammars.structure(engine::tool_call_structure(
                                              {function}, {.required = true, .several = false})));
  EXPECT_FALSE(takes(single, call + "\n" + call));
  EXPECT_EQ(grammars.size(), 2U);
}

TEST(CompiledGrammars, threads_may_ask_at_the_same_time) {
  CompiledGrammars grammars(vocabulary(), {.max_grammars = 3});
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&grammars, thread] {
      for (int i = 0; i < 50; ++i) {
        const std::string letter(1, static_cast<char>('a' + (i + thread) % 5));
        const auto grammar = grammars.gbnf("root ::= \"" + letter + "\"");
        ASSERT_TRUE(grammar && takes(*grammar, letter));
      }
    });
  }
}

}  // namespace
}  // namespace kvern::server
