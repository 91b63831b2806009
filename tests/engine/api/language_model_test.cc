#include "kvern/language_model.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"
#include "support/shared_data.h"
#include "support/temporary_directory.h"

namespace kvern {
namespace {

constexpr GenerateOptions greedy(int64_t count) { return {.max_new_tokens = count, .temperature = 0}; }

class LanguageModelTest : public testing::Test {
 protected:
  Result<LanguageModel> load(ModelOptions options = {}) const {
    if (options.path.empty()) options.path = test::source_file("models/kvern-tiny-8m-q8_0.gguf");
    if (options.threads == 0) options.threads = 2;
    return LanguageModel::load(options);
  }
};

TEST_F(LanguageModelTest, streams_what_it_returns) {
  ASSERT_OK_AND_ASSIGN(LanguageModel model, load());
  std::string streamed;
  ASSERT_OK_AND_ASSIGN(const Generation story,
                       model.generate("One day, a small boy", greedy(16), [&](std::string_view text) {
                         streamed += text;
                         return true;
                       }));
  EXPECT_EQ(streamed, story.text);
  EXPECT_EQ(story.ids.size(), 16U);
  EXPECT_EQ(story.finish_reason, "length");
  ASSERT_OK_AND_ASSIGN(const std::string text, model.detokenize(story.ids));
  EXPECT_EQ(text, story.text);
}

TEST_F(LanguageModelTest, text_and_its_ids_give_the_same) {
  ASSERT_OK_AND_ASSIGN(LanguageModel model, load());
  ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> ids, model.tokenize("One day, a small boy"));
  ASSERT_OK_AND_ASSIGN(const Generation from_text, model.generate("One day, a small boy", greedy(8)));
  ASSERT_OK_AND_ASSIGN(const Generation from_ids, model.generate(ids, greedy(8)));
  EXPECT_EQ(from_text.ids, from_ids.ids);
  EXPECT_EQ(from_text.prompt_tokens, static_cast<int64_t>(ids.size()));
  EXPECT_EQ(from_text.reused_tokens, 0);
  EXPECT_EQ(from_ids.reused_tokens, static_cast<int64_t>(ids.size()) - 1);
}

TEST_F(LanguageModelTest, a_listener_can_stop_it) {
  ASSERT_OK_AND_ASSIGN(LanguageModel model, load());
  int pieces = 0;
  ASSERT_OK_AND_ASSIGN(const Generation story,
                       model.generate("One day", greedy(64), [&](std::string_view) { return ++pieces < 3; }));
  EXPECT_EQ(story.finish_reason, "cancelled");
  EXPECT_LT(story.ids.size(), 10U);
}

TEST_F(LanguageModelTest, a_chat_goes_on_from_what_was_kept) {
  ASSERT_OK_AND_ASSIGN(LanguageModel model, load());
  std::vector<ChatMessage> talk = {{"user", "What is your name?"}};
  ASSERT_OK_AND_ASSIGN(const Generation first, model.chat(talk, greedy(12)));
  talk.push_back({"assistant", first.text});
  talk.push_back({"user", "And mine?"});
  ASSERT_OK_AND_ASSIGN(const Generation second, model.chat(talk, greedy(12)));
  EXPECT_GE(second.reused_tokens, first.prompt_tokens);
  ASSERT_OK_AND_ASSIGN(LanguageModel fresh, load({.threads = 1, .cpu_target = "avx2"}));
  ASSERT_OK_AND_ASSIGN(const Generation cold, fresh.chat(talk, greedy(12)));
  EXPECT_EQ(second.ids, cold.ids);
}

TEST_F(LanguageModelTest, stop_strings_and_seeds_act) {
  ASSERT_OK_AND_ASSIGN(LanguageModel model, load());
  ASSERT_OK_AND_ASSIGN(const Generation whole, model.generate("One day", greedy(20)));
  GenerateOptions options = greedy(20);
  options.stop = {whole.text.substr(8, 4)};
  ASSERT_OK_AND_ASSIGN(const Generation cut, model.generate("One day", options));
  EXPECT_EQ(cut.text, whole.text.substr(0, whole.text.find(options.stop[0])));
  EXPECT_EQ(cut.finish_reason, "stop");
  GenerateOptions random{.max_new_tokens = 20, .temperature = 1, .seed = 1};
  ASSERT_OK_AND_ASSIGN(const Generation one, model.generate("One day", random));
  ASSERT_OK_AND_ASSIGN(const Generation again, model.generate("One day", random));
  random.seed = 2;
  ASSERT_OK_AND_ASSIGN(const Generation two, model.generate("One day", random));
  EXPECT_EQ(one.ids, again.ids);
  EXPECT_NE(one.ids, two.ids);
}

TEST_F(LanguageModelTest, errors_say_what_is_wrong) {
  EXPECT_ERROR(load({.path = "/nowhere.gguf"}), kNotFound, "/nowhere.gguf");
  EXPECT_ERROR(load({.kv_type = "q7"}), kInvalidArgument, "bf16");
  ASSERT_OK_AND_ASSIGN(LanguageModel model, load({.context_tokens = 8}));
  EXPECT_ERROR(model.generate(std::vector<int32_t>(9, 1)), kInvalidArgument, "9");
  EXPECT_ERROR(model.generate(std::vector<int32_t>{}), kInvalidArgument, "empty");
  ASSERT_OK_AND_ASSIGN(LanguageModel bare, load({.path = test::test_data("transformers/llama2-mha")}));
  EXPECT_ERROR(bare.generate("text"), kInvalidArgument, "no tokenizer");
  EXPECT_ERROR(bare.chat({{"user", "text"}}), kInvalidArgument, "");
  EXPECT_ERROR(bare.tokenize("text"), kInvalidArgument, "no tokenizer");
  ASSERT_OK_AND_ASSIGN(const Generation ids, bare.generate(std::vector<int32_t>{1, 2}, greedy(3)));
  EXPECT_EQ(ids.ids.size(), 3U);
  EXPECT_EQ(ids.text, "");
}

TEST_F(LanguageModelTest, a_directory_outlives_it) {
  const test::TemporaryDirectory folder;
  const std::string text = "One day, a small boy named Tom found a red ball in the park and took it home. ";
  std::vector<int32_t> ids;
  for (const bool again : {false, true}) {
    ASSERT_OK_AND_ASSIGN(LanguageModel model, load({.kv_dir = folder.file("kv")}));
    ASSERT_OK_AND_ASSIGN(const Generation made, model.generate(text + text, greedy(8)));
    EXPECT_EQ(made.reused_tokens, again ? made.prompt_tokens - 1 : 0);
    if (again) {
      EXPECT_EQ(made.ids, ids);
    }
    ids = made.ids;
  }
  EXPECT_ERROR(load({.kv_dir = folder.file("no/such")}), kNotFound, "saved prefixes");
}

TEST_F(LanguageModelTest, can_be_moved) {
  ASSERT_OK_AND_ASSIGN(LanguageModel model, load());
  LanguageModel moved = std::move(model);
  EXPECT_OK(moved.generate("One day", greedy(2)));
}

}  // namespace
}  // namespace kvern
