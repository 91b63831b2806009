#include "engine/api/request_grammars.h"

#include <gtest/gtest.h>

#include "engine/support/engines.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

class RequestGrammarsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(engine_, test::open_bundled()); }
  std::unique_ptr<Engine> engine_;
};

TEST_F(RequestGrammarsTest, makes_each_grammar_once) {
  RequestGrammars grammars(*engine_);
  ASSERT_OK_AND_ASSIGN(const auto yes, grammars.gbnf("root ::= \"yes\""));
  ASSERT_OK_AND_ASSIGN(const auto no, grammars.gbnf("root ::= \"no\""));
  ASSERT_OK_AND_ASSIGN(const auto yes_again, grammars.gbnf("root ::= \"yes\""));
  EXPECT_EQ(yes, yes_again);
  EXPECT_NE(yes, no);
  EXPECT_EQ(&yes->vocabulary(), &no->vocabulary());
  ASSERT_OK_AND_ASSIGN(const auto number, grammars.json_schema(R"({"type": "integer"})"));
  ASSERT_OK_AND_ASSIGN(const auto number_again, grammars.json_schema(R"({"type": "integer"})"));
  EXPECT_EQ(number, number_again);
}

TEST_F(RequestGrammarsTest, says_what_is_wrong_with_a_grammar) {
  RequestGrammars grammars(*engine_);
  EXPECT_ERROR(grammars.gbnf("root ::= missing"), kInvalidArgument, "missing");
  EXPECT_ERROR(grammars.json_schema("{"), kInvalidArgument, "");
  const auto wrong = grammars.json_schema(R"({"type": "nonsense"})");
  EXPECT_ERROR(wrong, kInvalidArgument, "");
  EXPECT_TRUE(wrong.error().where.starts_with("json_schema")) << wrong.error().where;
  EXPECT_TRUE(grammars.gbnf("root ::= (").error().where.starts_with("grammar"));
}

TEST(RequestGrammars, needs_a_tokenizer) {
  ASSERT_OK_AND_ASSIGN(const auto engine,
                       test::open_bundled({.model_path = kvern::test::test_data("transformers/llama2-mha")}));
  RequestGrammars grammars(*engine);
  EXPECT_ERROR(grammars.gbnf("root ::= \"a\""), kInvalidArgument, "tokenizer");
}

}  // namespace
}  // namespace kvern::engine
