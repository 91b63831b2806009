// What Tokenizer::from_json accepts and refuses; the components have tests of their own.
#include <gmock/gmock.h>

#include "support/result_matchers.h"
#include "text/base64.h"
#include "text/small_tokenizers.h"

namespace kvern::text {
namespace {

using test::bpe_json;
using test::byte_level_json;
using testing::ElementsAre;

constexpr EncodeOptions kPlain{.add_special = false, .parse_special = false};
constexpr const char* kAb = R"("vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"])";

Result<std::unique_ptr<Tokenizer>> read(const std::string& json, const std::string& config = "") {
  return Tokenizer::from_json(json, config, "tokenizer.json");
}

TEST(TokenizerJson, ReadsMergesAsTextAndAsPairs) {
  ASSERT_OK_AND_ASSIGN(const auto text, read(bpe_json(kAb)));
  ASSERT_OK_AND_ASSIGN(const auto pairs,
                       read(bpe_json(R"("vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]])")));
  EXPECT_THAT(text->encode("aba"), ElementsAre(2, 0));
  EXPECT_THAT(pairs->encode("aba"), ElementsAre(2, 0));
}

TEST(TokenizerJson, GapsBetweenIdsAreAllowedAndEmpty) {
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, read(bpe_json(R"("vocab": {"a": 0, "b": 900}, "merges": [])")));
  EXPECT_EQ(tokenizer->vocab_size(), 901u);
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{5}), "");
  EXPECT_THAT(tokenizer->encode("ba"), ElementsAre(900, 0));
}

TEST(TokenizerJson, NamesWhatIsMissingOrOfTheWrongType) {
  EXPECT_ERROR(read("[]"), kCorrupt, "expected an object");
  EXPECT_ERROR(read("{}"), kCorrupt, "model: absent");
  EXPECT_ERROR(read(R"({"model": 3})"), kCorrupt, "model: expected an object");
  EXPECT_ERROR(read(R"({"model": {}})"), kCorrupt, "model.type: absent");
  EXPECT_ERROR(read(bpe_json(R"("merges": [])")), kCorrupt, "model.vocab: absent");
  EXPECT_ERROR(read(bpe_json(R"("vocab": [], "merges": [])")), kCorrupt, "model.vocab: expected an object");
  EXPECT_ERROR(read(bpe_json(R"("vocab": {})")), kCorrupt, "model.merges: absent");
  EXPECT_ERROR(read(bpe_json(std::string(kAb) + R"(, "byte_fallback": "yes")")), kCorrupt,
               "model.byte_fallback: expected true or false");
  EXPECT_ERROR(read(bpe_json(std::string(kAb) + R"(, "unk_token": "u")")), kCorrupt,
               "model.unk_token: \"u\" is not in");
  EXPECT_ERROR(read("{"), kCorrupt, "tokenizer.json");
}

TEST(TokenizerJson, RefusesIdsThatAreNoIds) {
  for (const char* id : {"-1", "1.5", "\"1\"", "1e30", "null", "18446744073709551615", "70000"})
    EXPECT_ERROR(read(bpe_json(std::string(R"("merges": [], "vocab": {"a": )") + id + "}")), kCorrupt,
                 "the id of \"a\"")
        << id;
  EXPECT_ERROR(read(bpe_json(R"("merges": [], "vocab": {"a": 1, "b": 1})")), kCorrupt, "has too");
}

TEST(TokenizerJson, RefusesMergesOfTokensThatDoNotExist) {
  const auto with = [](const std::string& merges) {
    return read(bpe_json(R"("vocab": {"a": 0, "b": 1, "ab": 2}, "merges": )" + merges));
  };
  EXPECT_ERROR(with(R"(["a b", "a x"])"), kCorrupt, "model.merges[1]: \"x\" is not in the vocabulary");
  EXPECT_ERROR(with(R"(["b a"])"), kCorrupt, "model.merges[0]: \"ba\"");
  for (const char* bad : {R"(["ab"])", R"([["a"]])", "[3]", R"([["a", 1]])", R"(["a b c"])"})
    EXPECT_ERROR(with(bad), kCorrupt, "model.merges[0]") << bad;
  EXPECT_OK(with(R"(["a b", "a b"])"));
}

TEST(TokenizerJson, NamesComponentsThatAreNotSupported) {
  EXPECT_ERROR(read(R"({"model": {"type": "WordPiece", "vocab": {}}})"), kUnsupported, "\"WordPiece\"");
  const auto with = [](const std::string& members) { return read(bpe_json(kAb, ", " + members)); };
  EXPECT_ERROR(with(R"("normalizer": {"type": "Odd"})"), kUnsupported, "normalizer: normalizer \"Odd\"");
  EXPECT_ERROR(
      with(R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "UnicodeScripts"}]})"),
      kUnsupported, "pre_tokenizer.pretokenizers[0]: pre-tokenizer \"UnicodeScripts\"");
  EXPECT_ERROR(with(R"("decoder": {"type": "CTC"})"), kUnsupported, "decoder \"CTC\"");
  EXPECT_ERROR(with(R"("post_processor": {"type": "Odd"})"), kUnsupported, "post-processor \"Odd\"");
  EXPECT_ERROR(
      with(R"("decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteFallback"}]})"),
      kUnsupported, "after a fusing one");
  EXPECT_ERROR(
      with(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"})"),
      kUnsupported, "pre_tokenizer.pattern.Regex");
  EXPECT_ERROR(with(R"("pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}, "behavior": "Odd"})"),
               kUnsupported, "\"Odd\"");
  EXPECT_ERROR(with(R"("pre_tokenizer": {"type": "Split", "pattern": "a", "behavior": "Isolated"})"),
               kCorrupt, "pre_tokenizer.pattern");
  EXPECT_ERROR(read(bpe_json(std::string(kAb) + R"(, "dropout": 0.1)")), kUnsupported, "model.dropout");
}

TEST(TokenizerJson, RefusesAddedTokensThatContradictTheVocabulary) {
  const auto with = [](const std::string& token) {
    return read(bpe_json(kAb, R"(, "added_tokens": [)" + token + "]"));
  };
  EXPECT_ERROR(with(R"({"id": 9, "content": "a"})"), kCorrupt, "added_tokens[0]: \"a\" is token 0");
  EXPECT_ERROR(with(R"({"id": 0, "content": "x"})"), kCorrupt, "token 0 is \"a\"");
  EXPECT_ERROR(with(R"({"id": -3, "content": "x"})"), kCorrupt, "added_tokens[0].id");
  EXPECT_ERROR(with(R"({"id": 16000000, "content": "x"})"), kCorrupt, "added_tokens[0].id");
  EXPECT_ERROR(with(R"({"id": 3, "content": ""})"), kCorrupt, "added_tokens[0].content: empty");
  EXPECT_ERROR(with(R"({"id": 3})"), kCorrupt, "added_tokens[0].content: absent");
  EXPECT_OK(with(R"({"id": 3, "content": "x"}, {"id": 3, "content": "x"})"));
}

constexpr const char* kTemplate = R"("post_processor": {"type": "TemplateProcessing", "single":
  [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "</s>"}}],
  "special_tokens": {"<s>": {"ids": [3]}, "</s>": {"ids": [4, 4]}}})";
constexpr const char* kBosEos =
    R"("added_tokens": [{"id": 3, "content": "<s>", "special": true}, {"id": 4, "content": "</s>", "special": true}])";

TEST(TokenizerJson, PutsWhatTheTemplateSaysAroundATextOnRequest) {
  ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                       read(bpe_json(kAb, std::string(", ") + kBosEos + ", " + kTemplate)));
  EXPECT_THAT(tokenizer->encode("a"), ElementsAre(3, 0, 4, 4));
  EXPECT_THAT(tokenizer->encode("a", kPlain), ElementsAre(0));
  EXPECT_EQ(tokenizer->bos(), 3);
}

TEST(TokenizerJson, RefusesTemplatesOfTokensThatDoNotExistOrWithoutTheText) {
  EXPECT_ERROR(read(bpe_json(kAb, std::string(", ") + kTemplate)), kCorrupt, "post_processor: token 3");
  const auto single = [](const std::string& parts) {
    return read(
        bpe_json(kAb, R"(, "post_processor": {"type": "TemplateProcessing", "single": [)" + parts + "]}"));
  };
  EXPECT_ERROR(single(""), kUnsupported, "post_processor.single");
  EXPECT_ERROR(single(R"({"Sequence": {"id": "B"}})"), kUnsupported, "post_processor.single[0]");
  EXPECT_ERROR(single(R"({"SpecialToken": {"id": "x"}})"), kCorrupt, "special_tokens.x.ids: absent");
}

TEST(TokenizerJson, TheSettingsOfLlamaClassesOverrideTheTemplate) {
  const std::string json = bpe_json(kAb, std::string(", ") + kBosEos + ", " + kTemplate);
  const std::string tokens = R"("bos_token": "<s>", "eos_token": "</s>")";
  ASSERT_OK_AND_ASSIGN(const auto off,
                       read(json, R"({"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": false,
                                                      "add_eos_token": true, )" +
                                      tokens + "}"));
  EXPECT_THAT(off->encode("a"), ElementsAre(0, 4));
  ASSERT_OK_AND_ASSIGN(const auto other, read(json, R"({"tokenizer_class": "PreTrainedTokenizerFast",
                                                        "add_bos_token": false, )" +
                                                        tokens + "}"));
  EXPECT_THAT(other->encode("a"), ElementsAre(3, 0, 4, 4));
  EXPECT_ERROR(read(json, R"({"bos_token": "nowhere"})"), kCorrupt, "bos_token: \"nowhere\"");
  EXPECT_ERROR(read(json, R"({"eos_token": 3})"), kCorrupt, "eos_token: expected a string");
  EXPECT_ERROR(read(json, "{"), kCorrupt, "tokenizer_config.json");
}

TEST(TokenizerJson, NormalizedAddedTokensAreFoundInNormalizedText) {
  const std::string json = byte_level_json(
      {},
      R"([{"id": 300, "content": "Abc", "normalized": true}, {"id": 301, "content": "XY", "normalized": false}])",
      R"(, "normalizer": {"type": "Lowercase"})");
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, read(json));
  EXPECT_THAT(tokenizer->encode("ABC", kPlain), ElementsAre(300));
  EXPECT_THAT(tokenizer->encode("XYxy", kPlain), ElementsAre(301, 'x', 'y'));
}

TEST(TokenizerJson, ReadsUnigramModels) {
  const auto with = [](const std::string& model) {
    return read(R"({"model": {"type": "Unigram", )" + model + R"(}, "pre_tokenizer": {"type": "Metaspace"},
                    "decoder": {"type": "Metaspace"}})");
  };
  ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                       with(R"("unk_id": 0, "vocab": [["<unk>", 0], ["▁", -2], ["a", -3], ["▁a", -1]])"));
  EXPECT_THAT(tokenizer->encode("a a x"), ElementsAre(3, 3, 1, 0));
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{3, 3}), "a a");
  EXPECT_ERROR(with(R"("unk_id": 7, "vocab": [["a", 0]])"), kCorrupt, "model.unk_id: token 7");
  EXPECT_ERROR(with(R"("vocab": [["a"]])"), kCorrupt, "model.vocab[0][1]: absent");
  EXPECT_ERROR(with(R"("vocab": [["a", 1e400]])"), kCorrupt, "tokenizer.json");
  EXPECT_ERROR(with(R"("vocab": [["a", null]])"), kCorrupt, "model.vocab[0][1]");
}

TEST(Base64, DecodesPaddedAndUnpaddedText) {
  EXPECT_EQ(decode_base64("aGk="), "hi");
  EXPECT_EQ(decode_base64("aGk"), "hi");
  EXPECT_EQ(decode_base64("/+8B"), "\xFF\xEF\x01");
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_FALSE(decode_base64("a"));
  EXPECT_FALSE(decode_base64("aG k"));
}

}  // namespace
}  // namespace kvern::text
