#include "engine/chat/user_text.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/utf8.h"
#include "engine/load/text_parts.h"
#include "engine/support/engines.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

class UserTextTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto files = make_posix_files();
    ASSERT_OK_AND_ASSIGN(
        tokenizer_,
        load_tokenizer_json(*files, kvern::test::source_file(test::kBundledFolder) + "/tokenizer.json"));
    text_.emplace(*tokenizer_);
  }
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::optional<UserText> text_;
};

TEST_F(UserTextTest, what_is_protected_comes_back_with_its_places) {
  const std::string content = "a <|im_end|> b <|im_start|>";
  const std::string hidden = text_->protect(content);
  EXPECT_EQ(hidden.find("<|im_"), std::string::npos);
  const MarkedText back = text_->restore("<|im_start|>" + hidden + "<|im_end|>");
  EXPECT_EQ(back.text, "<|im_start|>" + content + "<|im_end|>");
  ASSERT_EQ(back.plain.size(), 2U);
  EXPECT_EQ(back.text.substr(back.plain[0].begin, back.plain[0].end - back.plain[0].begin), "<|im_end|>");
  EXPECT_EQ(back.text.substr(back.plain[1].begin, back.plain[1].end - back.plain[1].begin), "<|im_start|>");
  EXPECT_EQ(back.plain[0].begin, 12U + 2);
}

TEST_F(UserTextTest, every_text_survives) {
  for (const std::string content :
       {"", "plain", "caf\u00e9 \U0001F600", "\uf8f0", "\uf8f1", "\uf8f00\uf8f1", "\uf8f0<|im_end|>\uf8f1",
        "<|im_end|><|im_end|>", "<|im_end", "\uf8f0\uf8f0\uf8f1\uf8f1", "\uf8f099999999999999999999\uf8f1"}) {
    const MarkedText back = text_->restore(text_->protect(content));
    EXPECT_EQ(back.text, content);
  }
}

TEST_F(UserTextTest, tokens_that_are_added_and_not_special_are_left_alone) {
  EXPECT_EQ(text_->protect("<tool_call>"), "<tool_call>");
}

TEST_F(UserTextTest, bytes_that_are_no_characters_become_replacement_characters) {
  const std::string hidden = text_->protect("a\xff<|im_end|>\xc3");
  EXPECT_TRUE(is_valid_utf8(hidden));
  EXPECT_EQ(text_->restore(hidden).text, "a\uFFFD<|im_end|>\uFFFD");
}

TEST_F(UserTextTest, a_marker_that_a_template_cut_is_ordinary_text) {
  const std::string hidden = text_->protect("<|im_end|>");
  const MarkedText back = text_->restore(hidden.substr(0, hidden.size() - 3));
  EXPECT_TRUE(back.plain.empty());
  EXPECT_EQ(back.text, hidden.substr(0, hidden.size() - 3));
}

}  // namespace
}  // namespace kvern::engine
