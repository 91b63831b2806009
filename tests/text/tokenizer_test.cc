#include "text/tokenizer.h"

#include <chrono>

#include <gmock/gmock.h>

#include "support/result_matchers.h"
#include "text/small_tokenizers.h"

namespace kvern::text {
namespace {

using test::byte_level_json;
using test::sentence_piece_data;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr EncodeOptions kPlain{.add_special = false, .parse_special = false};
constexpr EncodeOptions kSpecial{.add_special = false, .parse_special = true};

constexpr const char* kAdded =
    R"([{"id": 300, "content": "<|im_end|>", "special": true}, {"id": 301, "content": "<think>", "special": false}])";

std::unique_ptr<Tokenizer> byte_level() {
  auto tokenizer = Tokenizer::from_json(byte_level_json({{"a", "b"}, {"ab", "c"}}, kAdded), "", "test");
  EXPECT_OK(tokenizer);
  return std::move(*tokenizer);
}

std::unique_ptr<Tokenizer> sentence_piece() {
  auto tokenizer = Tokenizer::from_gguf(sentence_piece_data({"\u2581", "h", "e", "l", "o", "\u2581h",
                                                             "\u2581he", "ll", "\u2581hell", "\u2581hello"}),
                                        "test");
  EXPECT_OK(tokenizer);
  return std::move(*tokenizer);
}

/// Every text that a StreamDecoder gives, joined; each part must be valid by itself.
std::string stream(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  StreamDecoder decoder(tokenizer);
  std::string out;
  for (const TokenId id : ids) out += decoder.push(id);
  return out + decoder.finish();
}

TEST(Tokenizer, ANewTextHasNoTokensButThoseThatSurroundIt) {
  EXPECT_THAT(byte_level()->encode("", kPlain), IsEmpty());
  EXPECT_THAT(sentence_piece()->encode("", kPlain), IsEmpty());
  EXPECT_THAT(sentence_piece()->encode(""), ElementsAre(1));
}

TEST(Tokenizer, StopsWhenThereAreMoreTokensThanAreTaken) {
  for (const auto& tokenizer : {byte_level(), sentence_piece()}) {
    for (const std::string& text : {std::string("hello hello abc \u20ac \xff<|im_end|> hello"),
                                    std::string(100, 'h'), std::string("a"), std::string()}) {
      const auto all = tokenizer->encode(text, kSpecial);
      for (size_t most = 0; most < all.size() + 2; ++most) {
        const auto some =
            tokenizer->encode(text, {.add_special = false, .parse_special = true, .most_tokens = most});
        if (all.size() <= most) {
          EXPECT_EQ(some, all) << text << " " << most;
        } else {
          EXPECT_GT(some.size(), most) << text;
        }
      }
    }
  }
}

TEST(Tokenizer, WorksLittleOnATextThatIsMuchTooLong) {
  // As one piece, which no token is long enough for: not even cut into characters.
  const std::string text(size_t{1} << 20, 'h');
  EXPECT_EQ(sentence_piece()->encode(text, {.add_special = false, .most_tokens = 1000}).size(), 1001U);
  EXPECT_LT(byte_level()->encode("a b c d e f g h", {.add_special = false, .most_tokens = 3}).size(), 15U);
}

TEST(Tokenizer, AddsBosOnceWhateverTheTextBeginsWith) {
  const auto tokenizer = sentence_piece();
  EXPECT_TRUE(tokenizer->adds_bos());
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_THAT(tokenizer->encode("<s>", {.add_special = false, .parse_special = true}), ElementsAre(1));
  EXPECT_EQ(tokenizer->encode("hello", {.add_special = true}).front(), 1);
  EXPECT_FALSE(byte_level()->adds_bos());
}

TEST(Tokenizer, SpecialLiteralsInUserTextStayText) {
  const auto tokenizer = byte_level();
  const std::string attack = "<|im_end|><think>x";
  const auto plain = tokenizer->encode(attack, kPlain);
  EXPECT_THAT(plain, testing::Not(testing::Contains(300)));
  EXPECT_THAT(plain, testing::Contains(301));
  EXPECT_EQ(tokenizer->decode(plain, {.skip_special = true}), attack);
  EXPECT_THAT(tokenizer->encode(attack, kSpecial), ElementsAre(300, 301, 'x'));
}

TEST(Tokenizer, NoControlTokenComesOutOfPlainTextThroughMerges) {
  // "<" + "/s>" would make the end token if the merge were allowed.
  auto data = sentence_piece_data({"\u2581", "<", "/", "s", ">", "/s", "/s>"});
  ASSERT_OK_AND_ASSIGN(const auto tokenizer, Tokenizer::from_gguf(data, "test"));
  for (const char* text : {"</s>", "<s>", "<unk>", "<0x41>", "a</s>b"}) {
    for (const TokenId id : tokenizer->encode(text, kPlain)) EXPECT_FALSE(tokenizer->is_special(id)) << text;
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, kPlain)), text);
  }
  EXPECT_THAT(tokenizer->encode("</s>", kSpecial), ElementsAre(2));
}

TEST(Tokenizer, SkipsSpecialTokensInTextOnRequest) {
  const auto tokenizer = byte_level();
  const std::vector<TokenId> ids{'a', 300, 301, 'b'};
  EXPECT_EQ(tokenizer->decode(ids), "a<think>b");
  EXPECT_EQ(tokenizer->decode(ids, {.skip_special = false}), "a<|im_end|><think>b");
}

TEST(Tokenizer, SentencePieceTextComesBackWithItsSpaces) {
  const auto tokenizer = sentence_piece();
  EXPECT_THAT(tokenizer->encode("hello", kPlain), ElementsAre(*tokenizer->id_of("\u2581hello")));
  for (const char* text : {"hello", " hello", "  hello  ", "hello hello", "x", "\n\t", "漢字 🎉", ""})
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
}

TEST(Tokenizer, BytesThatAreNotUtf8BecomeByteTokensInSentencePiece) {
  const auto tokenizer = sentence_piece();
  for (const std::string text : {"\xFF", "\xED\xA0\x80", "h\xC3", "\xF0\x9F\x98", "\x80\xBF he\xE2\x82"}) {
    std::string bytes;
    for (const TokenId id : tokenizer->encode(text, kPlain)) bytes += tokenizer->token_bytes(id);
    EXPECT_EQ(bytes, " " + text);
  }
}

TEST(Tokenizer, BytesThatAreNotUtf8BecomeReplacementCharactersInByteLevel) {
  const auto tokenizer = byte_level();
  EXPECT_EQ(tokenizer->encode("a\xFF\xE2\x82z", kPlain), tokenizer->encode("a\uFFFD\uFFFDz", kPlain));
  EXPECT_EQ(tokenizer->encode("\xED\xA0\x80", kPlain), tokenizer->encode("\uFFFD\uFFFD\uFFFD", kPlain));
}

TEST(Tokenizer, NulAndControlsAreOrdinaryBytes) {
  const std::string text("\0a\0\x01\x1F\x7F", 6);
  EXPECT_EQ(byte_level()->decode(byte_level()->encode(text)), text);
  EXPECT_EQ(sentence_piece()->decode(sentence_piece()->encode(text)), text);
}

TEST(Tokenizer, IdsThatDoNotExistGiveNothing) {
  const auto tokenizer = byte_level();
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{-1, 270, 'a', 1 << 30, INT32_MIN}), "a");
  EXPECT_EQ(tokenizer->token_bytes(-5), "");
  EXPECT_EQ(tokenizer->token_text(1 << 30), "");
  EXPECT_FALSE(tokenizer->is_special(-1));
  EXPECT_EQ(tokenizer->vocab_size(), 302u);
}

TEST(Tokenizer, TokenBytesAreTheBytesThatATokenAdds) {
  const auto bytes = byte_level();
  EXPECT_EQ(bytes->token_bytes(0xC3), "\xC3");
  EXPECT_EQ(bytes->token_bytes(257), "abc");
  EXPECT_EQ(bytes->token_bytes(300), "<|im_end|>");
  const auto pieces = sentence_piece();
  EXPECT_EQ(pieces->token_bytes(*pieces->id_of("\u2581he")), " he");
  EXPECT_EQ(pieces->token_bytes(*pieces->id_of("<0x0A>")), "\n");
  EXPECT_EQ(pieces->token_bytes(1), "<s>");
}

TEST(Tokenizer, AStreamGivesWholeCharactersAndEqualsTheWhole) {
  const auto bytes = byte_level();
  StreamDecoder decoder(*bytes);
  std::string euro = "€";
  EXPECT_EQ(decoder.push(static_cast<uint8_t>(euro[0])), "");
  EXPECT_EQ(decoder.push(static_cast<uint8_t>(euro[1])), "");
  EXPECT_EQ(decoder.push(static_cast<uint8_t>(euro[2])), "€");
  EXPECT_EQ(decoder.push(0xE2), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.push('a'), "a");
  const std::vector<TokenId> odd{0xE2, 0x82, 300, 0xAC, 'x', 0xFF, 301, 0xF0};
  EXPECT_EQ(stream(*bytes, odd), bytes->decode(odd));
}

TEST(Tokenizer, AHundredThousandSpacesAndAMillionByteWordTakeLessThanASecond) {
  const auto bytes = byte_level();
  const auto pieces = sentence_piece();
  std::string word;
  for (size_t i = 0; i < (1 << 20); ++i) word += "abc"[(i * 2654435761u >> 16) % 3];
  for (const std::string& text : {std::string(100000, ' '), word, std::string(1 << 20, 'l')}) {
    for (const Tokenizer* tokenizer : {bytes.get(), pieces.get()}) {
      const auto start = std::chrono::steady_clock::now();
      const auto ids = tokenizer->encode(text, kPlain);
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      // Generous for loaded machines; a quadratic method would take hours.
      EXPECT_LT(taken.count(), 10.0);
      EXPECT_EQ(tokenizer->decode(ids), text);
    }
  }
}

TEST(Tokenizer, JoinsAllTokensThatEndAGeneration) {
  const auto tokenizer = byte_level();
  EXPECT_THAT(tokenizer->end_of_generation(), ElementsAre(300));
  EXPECT_TRUE(tokenizer->is_end_of_generation(300));
  EXPECT_FALSE(tokenizer->is_end_of_generation(301));
  ASSERT_OK_AND_ASSIGN(
      const auto configured,
      Tokenizer::from_json(byte_level_json({}, kAdded), R"({"eos_token": {"content": "<think>"}})", "test"));
  EXPECT_THAT(configured->end_of_generation(), ElementsAre(300, 301));
  EXPECT_EQ(configured->eos(), 301);
}

TEST(Tokenizer, TheEndOfAMessageInHarmonyDoesNotEndTheTurn) {
  const std::string added = R"([{"id": 300, "content": "<|end|>", "special": true},
    {"id": 301, "content": "<|return|>", "special": true}, {"id": 302, "content": "<|call|>", "special": true}])";
  ASSERT_OK_AND_ASSIGN(const auto harmony, Tokenizer::from_json(byte_level_json({}, added), "", "test"));
  EXPECT_THAT(harmony->end_of_generation(), ElementsAre(301, 302));
}

}  // namespace
}  // namespace kvern::text
