#include "text/gguf_tokenizer.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "support/result_matchers.h"
#include "text/small_tokenizers.h"

namespace kvern::text {
namespace {

using test::sentence_piece_data;
using testing::ElementsAre;

constexpr EncodeOptions kPlain{.add_special = false, .parse_special = false};

Result<std::unique_ptr<Tokenizer>> read(const GgufTokenizer& data) {
  return Tokenizer::from_gguf(data, "model.gguf");
}

GgufTokenizer byte_level_data(const std::string& pre) {
  GgufTokenizer data{
      .model = "gpt2", .pre = pre, .tokens = {"a", "b", "1", "2", "\u0120", "ab", "12", "<|end|>"}};
  data.merges = {"a b", "1 2"};
  data.token_types = {1, 1, 1, 1, 1, 1, 1, 3};
  return data;
}

TEST(GgufTokenizer, SplitsAsThePreTokenizerNameSays) {
  ASSERT_OK_AND_ASSIGN(const auto gpt2, read(byte_level_data("gpt-2")));
  EXPECT_THAT(gpt2->encode("ab 12"), ElementsAre(5, 4, 6));
  ASSERT_OK_AND_ASSIGN(const auto smollm, read(byte_level_data("smollm")));
  EXPECT_THAT(smollm->encode("ab 12"), ElementsAre(5, 4, 2, 3));
  ASSERT_OK_AND_ASSIGN(const auto absent, read(byte_level_data("")));
  EXPECT_THAT(absent->encode("ab12"), ElementsAre(5, 6));
}

TEST(GgufTokenizer, EveryKnownNameReads) {
  for (const char* name :
       {"default", "gpt-2", "llama-bpe", "qwen2", "qwen35", "tekken", "smollm", "gpt-4o", "llama4",
        "deepseek-v3", "falcon", "command-r", "starcoder", "dbrx", "chatglm-bpe", "stablelm2"})
    EXPECT_OK(read(byte_level_data(name))) << name;
}

TEST(GgufTokenizer, AnUnknownNameListsTheKnownOnes) {
  EXPECT_ERROR(read(byte_level_data("odd")), kUnsupported, "tokenizer.ggml.pre: \"odd\"");
  EXPECT_ERROR(read(byte_level_data("odd")), kUnsupported, "llama-bpe");
  GgufTokenizer data = byte_level_data("gpt-2");
  data.model = "bert";
  EXPECT_ERROR(read(data), kUnsupported, "tokenizer.ggml.model: \"bert\"");
}

TEST(GgufTokenizer, NormalizesForQwen) {
  GgufTokenizer data{.model = "gpt2", .pre = "qwen2", .tokens = {"e", "\u00C3", "\u00A9"}};
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, read(data));
  EXPECT_THAT(tokenizer->encode("e\u0301"), ElementsAre(1, 2));
}

TEST(GgufTokenizer, RefusesListsThatDoNotFitTogether) {
  EXPECT_ERROR(read({.model = "gpt2"}), kCorrupt, "tokenizer.ggml.tokens: absent");
  GgufTokenizer data = sentence_piece_data({"a"});
  data.scores.pop_back();
  EXPECT_ERROR(read(data), kCorrupt, "tokenizer.ggml.scores: 259 scores for 260 tokens");
  data.scores.clear();
  EXPECT_ERROR(read(data), kCorrupt, "tokenizer.ggml.scores: absent");
  data = sentence_piece_data({"a"});
  data.token_types.push_back(1);
  EXPECT_ERROR(read(data), kCorrupt, "tokenizer.ggml.token_type: 261 types");
}

TEST(GgufTokenizer, RefusesScoresThatAreNoNumbers) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    GgufTokenizer data = sentence_piece_data({"a", "b"});
    data.scores[260] = bad;
    EXPECT_ERROR(read(data), kCorrupt, "tokenizer.ggml.scores[260]");
  }
}

TEST(GgufTokenizer, RefusesTypesAndByteTokensThatAreNone) {
  GgufTokenizer data = sentence_piece_data({"a"});
  data.token_types[259] = 7;
  EXPECT_ERROR(read(data), kCorrupt, "tokenizer.ggml.token_type[259]: 7");
  data = sentence_piece_data({"a"});
  data.tokens[3] = "<0x-1>";
  EXPECT_ERROR(read(data), kCorrupt, "tokenizer.ggml.tokens[3]: \"<0x-1>\"");
}

TEST(GgufTokenizer, RefusesIdsOutsideTheVocabularyAndTakesMinusOneForNone) {
  GgufTokenizer data = sentence_piece_data({"a"});
  data.eos_id = 260;
  EXPECT_ERROR(read(data), kCorrupt, "tokenizer.ggml.eos_token_id: 260");
  data.eos_id = -2;
  EXPECT_ERROR(read(data), kCorrupt, "tokenizer.ggml.eos_token_id: -2");
  data.eos_id = 2;
  data.eot_id = 0xFFFFFFFF;
  data.eom_id = -1;
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, read(data));
  EXPECT_THAT(tokenizer->end_of_generation(), ElementsAre(2));
}

TEST(GgufTokenizer, RefusesMergesToMissingTokens) {
  for (const char* merge : {"a 1", "a x", "ab", "", " ", "a "}) {
    GgufTokenizer data = byte_level_data("gpt-2");
    data.merges.push_back(merge);
    EXPECT_ERROR(read(data), kCorrupt, "tokenizer.ggml.merges[2]") << merge;
  }
}

TEST(GgufTokenizer, RepeatedTokensAreTheFirstOfThem) {
  ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                       read(sentence_piece_data({"\u2581", "a", "a", "\u2581a", "\u2581a"})));
  EXPECT_THAT(tokenizer->encode("a", kPlain), ElementsAre(262));
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{263, 261}), "aa");
}

TEST(GgufTokenizer, TokensThatAreNotUtf8DecodeToReplacementCharacters) {
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, read(sentence_piece_data({"\xFF"})));
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{259}), "\uFFFD");
}

TEST(GgufTokenizer, AVocabularyOfCharactersWithoutBytesHasOneUnkForARun) {
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, read(sentence_piece_data({"\u2581", "e", "a", "t"}, 0)));
  EXPECT_THAT(tokenizer->encode("tea"), ElementsAre(1, 3, 6, 4, 5));
  EXPECT_THAT(tokenizer->encode("t漢字a\xFF", kPlain), ElementsAre(3, 6, 0, 5, 0));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("eat tea")), "eat tea");
}

TEST(GgufTokenizer, UserDefinedTokensAreFoundInAnyTextAndControlTokensOnRequest) {
  GgufTokenizer data = sentence_piece_data({"\u2581", "a", "<think>", "<turn>"});
  data.token_types[261] = static_cast<int32_t>(GgufTokenType::kUserDefined);
  data.token_types[262] = static_cast<int32_t>(GgufTokenType::kControl);
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, read(data));
  EXPECT_THAT(tokenizer->encode("a<think>a", kPlain), ElementsAre(259, 260, 261, 259, 260));
  EXPECT_THAT(tokenizer->encode("<turn>", {.add_special = false, .parse_special = true}), ElementsAre(262));
  EXPECT_THAT(tokenizer->encode("<turn>", kPlain), testing::Not(testing::Contains(262)));
  EXPECT_FALSE(tokenizer->is_special(261));
}

TEST(GgufTokenizer, JoinsTheIdsThatEndAGeneration) {
  GgufTokenizer data = sentence_piece_data({"a", "<end_of_turn>", "b"});
  data.eot_id = 261;
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, read(data));
  EXPECT_THAT(tokenizer->end_of_generation(), ElementsAre(2, 260, 261));
}

TEST(GgufTokenizer, AddsBosAndEosAsTheFileSays) {
  GgufTokenizer data = sentence_piece_data({"\u2581", "a"});
  data.add_bos = false;
  data.add_eos = true;
  data.add_space_prefix = false;
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, read(data));
  EXPECT_THAT(tokenizer->encode("a"), ElementsAre(260, 2));
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{259, 260}), " a");
}

TEST(GgufTokenizer, ReadsUnigramVocabularies) {
  GgufTokenizer data = sentence_piece_data({"\u2581", "a", "\u2581a"});
  data.model = "t5";
  data.unk_id = 0;
  data.eos_id = 2;
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, read(data));
  EXPECT_THAT(tokenizer->encode("a a"), ElementsAre(259, 260, 259, 260, 2));
  data.precompiled_charsmap = "abc";
  EXPECT_ERROR(read(data), kCorrupt, "precompiled_charsmap");
}

TEST(GgufTokenizer, AVocabularyOfThreeHundredThousandTokensLoads) {
  std::vector<std::string> pieces;
  for (int i = 0; i < 300000; ++i) pieces.push_back("t" + std::to_string(i));
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, read(sentence_piece_data(pieces)));
  EXPECT_EQ(tokenizer->vocab_size(), 300259u);
}

}  // namespace
}  // namespace kvern::text
