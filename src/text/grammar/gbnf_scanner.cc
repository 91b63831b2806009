#include "text/grammar/gbnf_scanner.h"

#include <algorithm>

#include <fmt/format.h>

namespace kvern::text::grammar {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

std::optional<uint32_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

}  // namespace

bool GbnfScanner::take(char c) {
  if (at_end() || peek() != c) return false;
  ++at_;
  return true;
}

bool GbnfScanner::take(std::string_view word) {
  if (!rest().starts_with(word)) return false;
  at_ += word.size();
  return true;
}

void GbnfScanner::skip_spaces() {
  while (!at_end()) {
    if (peek() == ' ' || peek() == '\t') {
      ++at_;
    } else if (peek() == '#') {
      while (!at_line_end()) ++at_;
    } else {
      return;
    }
  }
}

void GbnfScanner::skip_lines() {
  skip_spaces();
  while (!at_end() && at_line_end()) {
    ++at_;
    skip_spaces();
  }
}

std::string_view GbnfScanner::name() {
  const size_t begin = at_;
  while (!at_end() && is_name_char(peek())) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::optional<uint64_t> GbnfScanner::number() {
  constexpr uint64_t kLargest = uint64_t{1} << 40;
  std::optional<uint64_t> value;
  for (; !at_end() && peek() >= '0' && peek() <= '9'; ++at_)
    value = std::min(value.value_or(0) * 10 + static_cast<uint64_t>(peek() - '0'), kLargest);
  return value;
}

Result<char32_t> GbnfScanner::character() {
  if (peek() == '\\') return escape();
  const DecodedChar decoded = decode_utf8(rest());
  if (decoded.length == 0) return error("expected UTF-8");
  at_ += decoded.length;
  return decoded.value;
}

Result<char32_t> GbnfScanner::escape() {
  const size_t begin = at_;
  ++at_;
  const char kind = peek();
  if (at_end()) return error_at(begin, "expected an escape behind the backslash");
  ++at_;
  constexpr std::string_view kLetters = "nrt\\\"[]-^/'";
  constexpr std::string_view kMeanings = "\n\r\t\\\"[]-^/'";
  if (const size_t letter = kLetters.find(kind); letter != std::string_view::npos)
    return static_cast<char32_t>(kMeanings[letter]);
  const uint32_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
  if (digits == 0)
    return error_at(
        begin,
        "unknown escape; expected one of \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\^ \\xHH \\uHHHH \\UHHHHHHHH");
  uint64_t value = 0;
  for (uint32_t i = 0; i < digits; ++i) {
    const auto digit = hex_digit(peek());
    if (!digit) return error(fmt::format("expected {} hexadecimal digits behind \\{}", digits, kind));
    value = value << 4 | *digit;
    ++at_;
  }
  if (value > kMaxCodePoint || (value >= 0xD800 && value <= 0xDFFF))
    return error_at(begin, fmt::format("U+{:04X} is not a character", value));
  return static_cast<char32_t>(value);
}

std::unexpected<Error> GbnfScanner::error(std::string_view message) const { return error_at(at_, message); }

std::unexpected<Error> GbnfScanner::error_at(size_t offset, std::string_view message) const {
  const std::string_view before = text_.substr(0, offset);
  const auto line = std::ranges::count(before, '\n') + 1;
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  // Columns count characters: bytes that do not go on one.
  const auto column =
      std::ranges::count_if(before.substr(line_begin),
                            [](char c) { return (static_cast<uint8_t>(c) & 0xC0U) != 0x80; }) +
      1;
  return fail(ErrorCode::kInvalidArgument, fmt::format("line {}, column {}: {}", line, column, message),
              rule_.empty() ? "grammar" : fmt::format("grammar rule {}", rule_));
}

}  // namespace kvern::text::grammar
