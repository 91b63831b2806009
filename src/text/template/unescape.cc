// Escapes of string literals, as in Python's lexical analysis (String and Bytes literals).
#include <charconv>

#include "text/template/lexer.h"
#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

constexpr std::string_view kSimpleNames = "\\'\"abfnrtv";
constexpr std::string_view kSimpleValues = "\\'\"\a\b\f\n\r\t\v";

/// Reads `digits` hexadecimal digits at `at`.
Result<uint32_t> read_hex(std::string_view text, size_t at, size_t digits) {
  uint32_t value = 0;
  const std::string_view field = text.substr(at, digits);
  const auto parsed = std::from_chars(field.data(), field.data() + field.size(), value, 16);
  if (field.size() != digits || parsed.ec != std::errc{} || parsed.ptr != field.data() + digits) {
    return fail(ErrorCode::kCorrupt, "truncated escape in a string");
  }
  return value;
}

/// The code point of `\x`, `\u` or `\U` whose digits begin at `at`; moves `at` behind it. Joins surrogate
/// pairs.
Result<uint32_t> read_code_point(std::string_view text, size_t& at, char mark) {
  const size_t digits = mark == 'x' ? 2 : mark == 'u' ? 4 : 8;
  KVERN_TRY(uint32_t value, read_hex(text, at, digits));
  at += digits;
  if (value >= 0xd800 && value < 0xdc00 && text.substr(at, 2) == "\\u") {
    KVERN_TRY(const uint32_t low, read_hex(text, at + 2, 4));
    if (low >= 0xdc00 && low < 0xe000) {
      at += 6;
      return 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
    }
  }
  if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
    return fail(ErrorCode::kCorrupt, "illegal Unicode character in a string");
  }
  return value;
}

}  // namespace

Result<std::string> unescape(std::string_view content) {
  std::string out;
  for (size_t i = 0; i < content.size();) {
    if (content[i] != '\\' || i + 1 >= content.size()) {
      out += content[i++];
      continue;
    }
    const char mark = content[i + 1];
    i += 2;
    if (const size_t simple = kSimpleNames.find(mark); simple != std::string_view::npos) {
      out += kSimpleValues[simple];
    } else if (mark == 'x' || mark == 'u' || mark == 'U') {
      KVERN_TRY(const uint32_t value, read_code_point(content, i, mark));
      append_utf8(out, value);
    } else if (mark >= '0' && mark <= '7') {
      uint32_t value = static_cast<uint32_t>(mark - '0');
      for (int more = 0; more < 2 && i < content.size() && content[i] >= '0' && content[i] <= '7';
           ++more, ++i) {
        value = value * 8 + static_cast<uint32_t>(content[i] - '0');
      }
      append_utf8(out, value);
    } else if (mark == 'N') {
      return fail(ErrorCode::kUnsupported, "\\N{...} escapes are not supported; use \\u");
    } else if (mark != '\n') {
      out += '\\';
      out += mark;
    }
  }
  return out;
}

}  // namespace kvern::jinja
