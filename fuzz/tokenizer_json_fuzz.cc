// Tokenizer::from_json on arbitrary text, and what it makes used on a few inputs.
//
// Input: tokenizer.json, then (after the first zero byte) tokenizer_config.json.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "text/byte_tokens.h"
#include "text/tokenizer.h"

namespace {

void use(const kvern::text::Tokenizer& tokenizer) {
  for (const std::string_view text :
       {std::string_view("Hello  world 123\n"), std::string_view("\0\xFF é漢🎉", 12),
        std::string_view("<s></s>ab aab b")}) {
    for (const bool special : {false, true}) {
      const auto ids = tokenizer.encode(text, {.add_special = special, .parse_special = special});
      KVERN_CHECK(kvern::is_valid_utf8(tokenizer.decode(ids, {.skip_special = !special})));
      if (special) continue;
      // A file may well call its unk and its byte tokens special.
      for (const auto id : ids)
        KVERN_CHECK(!tokenizer.is_special(id) || tokenizer.unk() == id ||
                    kvern::text::byte_of_token_text(tokenizer.token_text(id)));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = input.find('\0');
  const std::string_view config =
      zero == std::string_view::npos ? std::string_view() : input.substr(zero + 1);
  const auto tokenizer = kvern::text::Tokenizer::from_json(input.substr(0, zero), config, "fuzz");
  if (tokenizer) use(**tokenizer);
  return 0;
}
