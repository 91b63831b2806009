#include "engine/api/grammar_cache.h"

#include <gtest/gtest.h>

#include "engine/support/engines.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

class GrammarCacheTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(engine_, test::open_bundled()); }
  std::unique_ptr<Engine> engine_;
};

TEST_F(GrammarCacheTest, makes_each_grammar_once) {
  GrammarCache cache(*engine_);
  ASSERT_OK_AND_ASSIGN(const auto yes, cache.gbnf("root ::= \"yes\""));
  ASSERT_OK_AND_ASSIGN(const auto no, cache.gbnf("root ::= \"no\""));
  ASSERT_OK_AND_ASSIGN(const auto yes_again, cache.gbnf("root ::= \"yes\""));
  EXPECT_EQ(yes, yes_again);
  EXPECT_NE(yes, no);
  EXPECT_EQ(&yes->vocabulary(), &no->vocabulary());
  ASSERT_OK_AND_ASSIGN(const auto number, cache.json_schema(R"({"type": "integer"})"));
  ASSERT_OK_AND_ASSIGN(const auto number_again, cache.json_schema(R"({"type": "integer"})"));
  EXPECT_EQ(number, number_again);
}

TEST_F(GrammarCacheTest, forgets_the_one_that_was_not_used_for_longest) {
  GrammarCache cache(*engine_, 2);
  ASSERT_OK_AND_ASSIGN(const auto a, cache.gbnf("root ::= \"a\""));
  ASSERT_OK_AND_ASSIGN(const auto b, cache.gbnf("root ::= \"b\""));
  ASSERT_OK(cache.gbnf("root ::= \"a\""));
  ASSERT_OK(cache.gbnf("root ::= \"c\""));
  ASSERT_OK_AND_ASSIGN(const auto a_again, cache.gbnf("root ::= \"a\""));
  ASSERT_OK_AND_ASSIGN(const auto b_again, cache.gbnf("root ::= \"b\""));
  EXPECT_EQ(a, a_again);
  EXPECT_NE(b, b_again);
}

TEST_F(GrammarCacheTest, says_what_is_wrong_with_a_grammar) {
  GrammarCache cache(*engine_);
  EXPECT_ERROR(cache.gbnf("root ::= missing"), kInvalidArgument, "missing");
  EXPECT_ERROR(cache.json_schema("{"), kInvalidArgument, "");
  const auto wrong = cache.json_schema(R"({"type": "nonsense"})");
  EXPECT_ERROR(wrong, kInvalidArgument, "");
  EXPECT_TRUE(wrong.error().where.starts_with("json_schema")) << wrong.error().where;
  EXPECT_TRUE(cache.gbnf("root ::= (").error().where.starts_with("grammar"));
}

TEST(GrammarCache, needs_a_tokenizer) {
  ASSERT_OK_AND_ASSIGN(const auto engine,
                       test::open_bundled({.model_path = kvern::test::test_data("transformers/llama2-mha")}));
  GrammarCache cache(*engine);
  EXPECT_ERROR(cache.gbnf("root ::= \"a\""), kInvalidArgument, "tokenizer");
}

}  // namespace
}  // namespace kvern::engine
