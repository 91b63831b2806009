#include "engine/request/text_stream.h"

#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/utf8.h"
#include "engine/load/text_parts.h"
#include "engine/support/engines.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

class TextStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto files = make_posix_files();
    ASSERT_OK_AND_ASSIGN(
        tokenizer_,
        load_tokenizer_json(*files, kvern::test::source_file(test::kBundledFolder) + "/tokenizer.json"));
  }
  std::vector<TokenId> encode(std::string_view text) const {
    return tokenizer_->encode(text, {.add_special = false});
  }
  /// The text of `ids` after `prompt`, token by token.
  std::string stream(const std::vector<TokenId>& prompt, const std::vector<TokenId>& ids,
                     const std::vector<std::string>& stops = {}) const {
    auto stream = TextStream::create(tokenizer_.get(), prompt, stops);
    EXPECT_OK(stream);
    std::string text;
    for (const TokenId id : ids) text += stream->push(id);
    return text + stream->finish();
  }

  std::unique_ptr<text::Tokenizer> tokenizer_;
};

TEST_F(TextStreamTest, a_continuation_keeps_the_space_before_its_first_word) {
  const std::vector<TokenId> all = encode("The little dog ran home");
  for (size_t cut = 1; cut < all.size(); ++cut) {
    const std::vector<TokenId> prompt(all.begin(), all.begin() + static_cast<ptrdiff_t>(cut));
    const std::vector<TokenId> rest(all.begin() + static_cast<ptrdiff_t>(cut), all.end());
    EXPECT_EQ(tokenizer_->decode(prompt) + stream(prompt, rest), tokenizer_->decode(all)) << cut;
  }
}

TEST_F(TextStreamTest, gives_whole_characters_only) {
  const std::string text = "caf\u00e9 \U0001F600 \u4f60\u597d";
  auto pieces = TextStream::create(tokenizer_.get(), {}, {});
  ASSERT_OK(pieces);
  std::string joined;
  for (const TokenId id : encode(text)) {
    const std::string piece = pieces->push(id);
    EXPECT_TRUE(is_valid_utf8(piece));
    joined += piece;
  }
  joined += pieces->finish();
  EXPECT_EQ(joined, tokenizer_->decode(encode(text)));
  EXPECT_NE(joined.find("\U0001F600"), std::string::npos);
}

TEST_F(TextStreamTest, a_stop_string_ends_the_text_and_nothing_follows) {
  auto cut = TextStream::create(tokenizer_.get(), {}, {"ran ho"});
  ASSERT_OK(cut);
  std::string text;
  for (const TokenId id : encode("The little dog ran home and slept")) text += cut->push(id);
  EXPECT_TRUE(cut->stopped());
  text += cut->finish();
  EXPECT_EQ(text, "The little dog ");
}

TEST_F(TextStreamTest, what_could_have_been_a_stop_string_is_given_out_at_the_end) {
  EXPECT_EQ(stream({}, encode("The little dog ran"), {"ran home"}), "The little dog ran");
}

TEST(TextStream_without_a_tokenizer, is_always_empty) {
  auto stream = TextStream::create(nullptr, {}, {});
  ASSERT_OK(stream);
  EXPECT_EQ(stream->push(5), "");
  EXPECT_EQ(stream->finish(), "");
  EXPECT_FALSE(stream->stopped());
}

TEST(TextStream_create, refuses_bad_stop_strings) {
  EXPECT_ERROR(TextStream::create(nullptr, {}, {""}), kInvalidArgument, "stop");
}

}  // namespace
}  // namespace kvern::engine
