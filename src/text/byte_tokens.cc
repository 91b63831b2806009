#include "text/byte_tokens.h"

#include <algorithm>

#include <fmt/format.h>

namespace kvern::text {
namespace {

int hexadecimal_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::optional<uint8_t> byte_of_token_text(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const int high = hexadecimal_digit(text[3]);
  const int low = hexadecimal_digit(text[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<uint8_t>(high * 16 + low);
}

ByteTokens::ByteTokens(const Vocabulary& vocabulary) {
  for (size_t byte = 0; byte < ids_.size(); ++byte)
    ids_[byte] = vocabulary.find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
}

bool ByteTokens::complete() const { return std::ranges::find(ids_, -1) == ids_.end(); }

bool ByteTokens::append(std::string_view bytes, std::vector<TokenId>& out) const {
  const size_t before = out.size();
  for (const char c : bytes) {
    const TokenId id = ids_[static_cast<uint8_t>(c)];
    if (id < 0) {
      out.resize(before);
      return false;
    }
    out.push_back(id);
  }
  return true;
}

}  // namespace kvern::text
