// Encoding and decoding arbitrary bytes and arbitrary ids with a byte-level and a SentencePiece tokenizer.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/gguf_tokenizer.h"
#include "text/tokenizer.h"

namespace {

using kvern::text::GgufTokenizer;
using kvern::text::StreamDecoder;
using kvern::text::TokenId;
using kvern::text::Tokenizer;

std::unique_ptr<Tokenizer> make(const GgufTokenizer& data) {
  auto tokenizer = Tokenizer::from_gguf(data, "fuzz");
  KVERN_CHECK(tokenizer.has_value());
  return std::move(*tokenizer);
}

std::unique_ptr<Tokenizer> byte_level() {
  GgufTokenizer data{.model = "gpt2", .pre = "llama-bpe"};
  for (int byte = 0; byte < 256; ++byte) {
    const char raw = static_cast<char>(byte);
    kvern::text::append_byte_characters(data.tokens.emplace_back(), std::string_view(&raw, 1));
  }
  for (const char* token : {"ab", "abc", "\u0120a", "\u010A\u010A", "aa", "aaaa"})
    data.tokens.emplace_back(token);
  data.token_types.assign(data.tokens.size(), 1);
  data.tokens.emplace_back("<|im_end|>");
  data.token_types.push_back(3);
  data.merges = {"a b", "ab c", "\u0120 a", "\u010A \u010A", "a a", "aa aa"};
  return make(data);
}

std::unique_ptr<Tokenizer> sentence_piece() {
  GgufTokenizer data{
      .model = "llama", .pre = "", .tokens = {"<unk>", "<s>", "</s>"}, .token_types = {2, 3, 3}};
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    data.tokens.push_back(std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">");
    data.token_types.push_back(6);
  }
  for (const char* token : {"\u2581", "a", "b", "ab", "\u2581a", "\u2581ab", "é", "abc", "\u2581\u2581"}) {
    data.tokens.emplace_back(token);
    data.token_types.push_back(1);
  }
  for (size_t i = 0; i < data.tokens.size(); ++i) data.scores.push_back(-static_cast<float>(i));
  return make(data);
}

void check_text(const Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = false});
  for (const TokenId id : ids) KVERN_CHECK(!tokenizer.is_special(id));
  const std::string decoded = tokenizer.decode(ids);
  KVERN_CHECK(kvern::is_valid_utf8(decoded));
  // The visible space is a space in decoded text.
  if (kvern::is_valid_utf8(text) && text.find("\u2581") == std::string_view::npos)
    KVERN_CHECK(decoded == text);
  tokenizer.encode(text, {.add_special = true, .parse_special = true});
}

void check_ids(const Tokenizer& tokenizer, std::string_view bytes) {
  std::vector<TokenId> ids;
  for (size_t i = 0; i + 2 <= bytes.size(); i += 2) {
    int16_t id = 0;
    std::memcpy(&id, bytes.data() + i, sizeof(id));
    ids.push_back(id % 300);
  }
  StreamDecoder decoder(tokenizer, {.skip_special = false});
  std::string streamed;
  for (const TokenId id : ids) {
    const std::string part = decoder.push(id);
    KVERN_CHECK(kvern::is_valid_utf8(part));
    streamed += part;
  }
  streamed += decoder.finish();
  KVERN_CHECK(streamed == tokenizer.decode(ids, {.skip_special = false}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<Tokenizer> tokenizers[] = {byte_level(), sentence_piece()};
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto& tokenizer : tokenizers) {
    check_text(*tokenizer, bytes);
    check_ids(*tokenizer, bytes);
  }
  return 0;
}
