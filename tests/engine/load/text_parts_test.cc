#include "engine/load/text_parts.h"

#include <gtest/gtest.h>

#include "engine/support/engines.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

class TextPartsTest : public testing::Test {
 protected:
  void SetUp() override { test::copy_bundled_folder(*files_); }
  Result<TextParts> load(const std::string& path) const {
    KVERN_TRY(const model::OpenedModel opened, model::open_model(*files_, path));
    return load_text_parts(*files_, opened);
  }
  const std::unique_ptr<Files> files_ = make_memory_files();
};

TEST_F(TextPartsTest, the_bundled_file_and_folder_have_the_same_tokenizer_and_template) {
  test::copy_in(*files_, kvern::test::source_file(test::kBundledGguf), "/model.gguf");
  ASSERT_OK_AND_ASSIGN(const TextParts folder, load("/hf"));
  ASSERT_OK_AND_ASSIGN(const TextParts gguf, load("/model.gguf"));
  EXPECT_EQ(gguf.chat_template, folder.chat_template);
  EXPECT_EQ(gguf.tokenizer->vocab_size(), folder.tokenizer->vocab_size());
  EXPECT_EQ(gguf.tokenizer->bos(), folder.tokenizer->bos());
  EXPECT_EQ(gguf.tokenizer->adds_bos(), folder.tokenizer->adds_bos());
  for (const std::string text : {"Once upon a time, Mia's 12345 dogs\n\n ran.", "caf\u00e9 \U0001F600", ""})
    EXPECT_EQ(gguf.tokenizer->encode(text), folder.tokenizer->encode(text)) << text;
}

TEST_F(TextPartsTest, a_folder_without_a_tokenizer_has_none) {
  ASSERT_OK(files_->remove("/hf/tokenizer.json"));
  ASSERT_OK(files_->remove("/hf/tokenizer_config.json"));
  ASSERT_OK_AND_ASSIGN(const TextParts parts, load("/hf"));
  EXPECT_EQ(parts.tokenizer, nullptr);
  EXPECT_FALSE(parts.chat_template.has_value());
}

TEST_F(TextPartsTest, the_template_named_default_is_taken_from_a_list) {
  test::put_file(*files_, "/hf/tokenizer_config.json",
                 R"({"chat_template": [{"name": "tool_use", "template": "tools"},
                                       {"name": "default", "template": "plain"}]})");
  ASSERT_OK_AND_ASSIGN(const TextParts parts, load("/hf"));
  EXPECT_EQ(parts.chat_template, "plain");
}

TEST_F(TextPartsTest, a_list_without_a_default_and_other_kinds_are_no_template) {
  for (const char* config : {R"({"chat_template": [{"name": "rag", "template": "x"}]})",
                             R"({"chat_template": [5, {"name": "default"}, {"template": "x"}]})",
                             R"({"chat_template": null})", R"({"chat_template": 7})", "{}"}) {
    test::put_file(*files_, "/hf/tokenizer_config.json", config);
    ASSERT_OK_AND_ASSIGN(const TextParts parts, load("/hf"));
    EXPECT_FALSE(parts.chat_template.has_value()) << config;
  }
}

TEST_F(TextPartsTest, a_file_of_its_own_comes_before_the_template_in_the_configuration) {
  test::put_file(*files_, "/hf/chat_template.jinja", "from the file");
  ASSERT_OK_AND_ASSIGN(const TextParts parts, load("/hf"));
  EXPECT_EQ(parts.chat_template, "from the file");
}

TEST_F(TextPartsTest, a_synthetic_model_has_a_tokenizer_that_gives_back_the_text) {
  ASSERT_OK(test::write_synthetic(*files_));
  ASSERT_OK_AND_ASSIGN(const TextParts parts, load("/model.gguf"));
  ASSERT_NE(parts.tokenizer, nullptr);
  const std::string text = "the quick brown fox 123";
  EXPECT_EQ(parts.tokenizer->decode(parts.tokenizer->encode(text, {.add_special = false})), text);
}

TEST_F(TextPartsTest, a_tokenizer_by_itself_can_be_opened) {
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, load_tokenizer_json(*files_, "/hf/tokenizer.json"));
  ASSERT_OK_AND_ASSIGN(const TextParts parts, load("/hf"));
  EXPECT_EQ(tokenizer->encode("A dog"), parts.tokenizer->encode("A dog"));
  EXPECT_ERROR(load_tokenizer_json(*files_, "/hf/none.json"), kNotFound, "none.json");
  test::put_file(*files_, "/bad.json", "{\"model\": 5}");
  EXPECT_ERROR(load_tokenizer_json(*files_, "/bad.json"), kCorrupt, "/bad.json");
}

}  // namespace
}  // namespace kvern::engine
