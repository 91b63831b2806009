#include "text/base64.h"

#include <cstdint>

namespace kvern::text {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t window = 0;
  int bits = 0;
  for (const char c : text) {
    const size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    window = (window << 6) | static_cast<uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>((window >> bits) & 0xFF);
  }
  if (bits >= 6) return std::nullopt;  // One character left over.
  return bytes;
}

}  // namespace kvern::text
