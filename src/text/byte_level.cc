#include "text/byte_level.h"

#include <array>

#include "base/utf8.h"

namespace kvern::text {
namespace {

constexpr char32_t kFirstOther = 0x100;
constexpr size_t kOthers = 68;

struct Tables {
  std::array<char32_t, 256> character{};
  std::array<uint8_t, kOthers> other{};  ///< Byte of U+0100 + i.
};

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr Tables make_tables() {
  Tables tables;
  size_t others = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (stands_for_itself(byte)) {
      tables.character[byte] = byte;
    } else {
      tables.other[others] = static_cast<uint8_t>(byte);
      tables.character[byte] = static_cast<char32_t>(kFirstOther + others++);
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::optional<uint8_t> byte_of(char32_t c) {
  if (c < 0x100) {
    if (!stands_for_itself(static_cast<unsigned>(c))) return std::nullopt;
    return static_cast<uint8_t>(c);
  }
  if (c >= kFirstOther + kOthers) return std::nullopt;
  return kTables.other[c - kFirstOther];
}

}  // namespace

void append_byte_characters(std::string& out, std::string_view bytes) {
  for (const char c : bytes) append_utf8(out, kTables.character[static_cast<uint8_t>(c)]);
}

bool append_bytes_of_characters(std::string& out, std::string_view text) {
  const size_t before = out.size();
  while (!text.empty()) {
    const Utf8Step step = decode_utf8(text);
    const auto byte = step.valid ? byte_of(step.code_point) : std::nullopt;
    if (!byte) {
      out.resize(before);
      return false;
    }
    out += static_cast<char>(*byte);
    text.remove_prefix(step.length);
  }
  return true;
}

}  // namespace kvern::text
