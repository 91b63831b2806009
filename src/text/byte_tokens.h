// The tokens <0x00> to <0xFF> with which SentencePiece spells what its vocabulary does not have.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/token.h"
#include "text/vocabulary.h"

namespace kvern::text {

/// The byte that the text of a byte token names: "<0x" + two hexadecimal digits + ">".
std::optional<uint8_t> byte_of_token_text(std::string_view text);

/// Ids by byte. Immutable once made.
class ByteTokens {
 public:
  ByteTokens() { ids_.fill(-1); }
  explicit ByteTokens(const Vocabulary& vocabulary);

  bool complete() const;
  /// Appends a token for each byte; false (and `out` is as before) when one has none.
  bool append(std::string_view bytes, std::vector<TokenId>& out) const;
  /// -1 when there is none.
  TokenId id_of(uint8_t byte) const { return ids_[byte]; }

 private:
  std::array<TokenId, 256> ids_{};
};

}  // namespace kvern::text
