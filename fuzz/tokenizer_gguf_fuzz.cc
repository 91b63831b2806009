// Tokenizer::from_gguf on arbitrary vocabularies, and what it makes used on a few inputs.
//
// Input: one byte for the model, one for the pre-tokenizer, one of flags, four of ids; then lines: tokens,
// each with a byte for its type and one for its score before it; after an empty line merges.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"
#include "text/byte_tokens.h"
#include "text/gguf_tokenizer.h"
#include "text/tokenizer.h"

namespace {

using kvern::text::GgufTokenizer;

constexpr std::array<std::string_view, 4> kModels{"gpt2", "llama", "t5", "bert"};
constexpr std::array<std::string_view, 6> kPre{"", "gpt-2", "llama-bpe", "qwen2", "tekken", "odd"};

std::string_view take_line(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

GgufTokenizer parse(std::string_view rest) {
  GgufTokenizer data;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(rest[i]); };
  data.model = kModels[byte(0) % kModels.size()];
  data.pre = kPre[byte(1) % kPre.size()];
  const uint8_t flags = byte(2);
  data.add_bos = (flags & 1) != 0;
  data.add_space_prefix = (flags & 2) != 0;
  data.remove_extra_whitespaces = (flags & 4) != 0;
  if (flags & 8) data.bos_id = static_cast<int8_t>(byte(3));
  if (flags & 16) data.eos_id = static_cast<int8_t>(byte(4));
  if (flags & 32) data.unk_id = static_cast<int8_t>(byte(5));
  const bool map = (flags & 64) != 0;
  rest.remove_prefix(7);
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line.empty()) break;
    data.token_types.push_back(static_cast<uint8_t>(line[0]) % 8);
    data.scores.push_back(line.size() > 1 ? -static_cast<float>(static_cast<uint8_t>(line[1])) : 0.0f);
    data.tokens.emplace_back(line.substr(std::min<size_t>(2, line.size())));
  }
  if (map) data.precompiled_charsmap = std::exchange(rest, {});
  while (!rest.empty()) data.merges.emplace_back(take_line(rest));
  return data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 8) return 0;
  const GgufTokenizer input = parse({reinterpret_cast<const char*>(data), size});
  const auto tokenizer = kvern::text::Tokenizer::from_gguf(input, "fuzz");
  if (!tokenizer) return 0;
  for (const std::string_view text :
       {std::string_view("Hello  world 123\n"), std::string_view("\0\xFF é漢🎉", 12),
        std::string_view("<s></s>ab aab b"), std::string_view(reinterpret_cast<const char*>(data), size)}) {
    const auto ids = (*tokenizer)->encode(text, {.add_special = false, .parse_special = false});
    KVERN_CHECK(kvern::is_valid_utf8((*tokenizer)->decode(ids)));
    // A file may well call its byte tokens control tokens.
    for (const auto id : ids)
      KVERN_CHECK(!(*tokenizer)->is_special(id) || (*tokenizer)->unk() == id ||
                  kvern::text::byte_of_token_text((*tokenizer)->token_text(id)));
  }
  return 0;
}
