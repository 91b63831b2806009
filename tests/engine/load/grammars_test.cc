#include "engine/load/grammars.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/chat/tool_call_structure.h"
#include "engine/support/engines.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

class GrammarsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(engine_, test::open_bundled());
    grammars_ = make_grammar_cache(*engine_);
  }
  /// True when the grammar takes exactly this text.
  bool takes(const std::shared_ptr<const text::Grammar>& grammar, const std::string& text) const {
    text::GrammarState state(grammar);
    for (const int32_t token : engine_->tokenizer()->encode(text, {.add_special = false})) {
      if (!state.accept(token)) return false;
    }
    text::TokenMask mask;
    state.fill_mask(mask);
    return text::allows(mask, engine_->end_tokens().front());
  }

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<text::GrammarCache> grammars_;
};

TEST_F(GrammarsTest, texts_of_the_model_follow_them_up_to_its_end_tokens) {
  ASSERT_OK_AND_ASSIGN(const auto integer, grammars_->json_schema({{"type", "integer"}}));
  EXPECT_TRUE(takes(integer, "12"));
  EXPECT_FALSE(takes(integer, "true"));
  // The same text means different things.
  ASSERT_OK_AND_ASSIGN(const auto gbnf, grammars_->gbnf("root ::= \"{}\""));
  ASSERT_OK_AND_ASSIGN(const auto object, grammars_->json_object());
  EXPECT_TRUE(takes(gbnf, "{}") && takes(object, "{}") && takes(object, "{\"a\": [1]}"));
  EXPECT_FALSE(takes(gbnf, "{\"a\": [1]}"));
  EXPECT_EQ(integer->vocabulary().size(), static_cast<size_t>(engine_->model().config().vocab));
}

TEST(Grammars, need_a_tokenizer) {
  ASSERT_OK_AND_ASSIGN(const auto engine,
                       test::open_bundled({.model_path = kvern::test::test_data("transformers/llama2-mha")}));
  EXPECT_EQ(make_grammar_cache(*engine), nullptr);
}

TEST_F(GrammarsTest, demanded_calls_follow_their_schema) {
  const ToolFunction function{.name = "get",
                              .parameters = {{"type", "object"},
                                             {"properties", {{"city", {{"type", "string"}}}}},
                                             {"required", json::array{"city"}},
                                             {"additionalProperties", false}}};
  ASSERT_OK_AND_ASSIGN(const auto grammar, grammars_->structure(tool_call_structure(
                                               {function}, {.required = true, .several = true})));
  const std::string call =
      "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
  EXPECT_TRUE(takes(grammar, call));
  EXPECT_TRUE(takes(grammar, call + "\n" + call));
  EXPECT_FALSE(takes(grammar, "Hello"));
  EXPECT_FALSE(
      takes(grammar, "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"town\": \"Oslo\"}}\n</tool_call>"));
  ASSERT_OK_AND_ASSIGN(const auto single, grammars_->structure(tool_call_structure(
                                              {function}, {.required = true, .several = false})));
  EXPECT_FALSE(takes(single, call + "\n" + call));
}

TEST_F(GrammarsTest, threads_may_ask_and_generate_at_the_same_time) {
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 0; i < 50; ++i) {
        const std::string letter(1, static_cast<char>('a' + (i + thread) % 5));
        const auto grammar = grammars_->gbnf("root ::= \"" + letter + "\"");
        ASSERT_TRUE(grammar && takes(*grammar, letter));
      }
    });
  }
}

}  // namespace
}  // namespace kvern::engine
