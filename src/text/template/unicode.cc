// Code points, classes and case of UTF-8 text; tables come from utf8proc (Unicode Character Database).
#include "text/template/unicode.h"

#include <algorithm>

#include <utf8proc.h>

namespace kvern::jinja {

namespace {

constexpr uint32_t kReplacement = 0xfffd;
constexpr int32_t kSharpS = 0xdf;

int32_t category(int32_t code_point) { return code_point < 0 ? -1 : utf8proc_category(code_point); }

void append_upper(std::string& out, std::string_view piece, int32_t code_point) {
  if (code_point < 0) {
    out += piece;
  } else if (code_point == kSharpS) {
    out += "SS";
  } else {
    append_utf8(out, static_cast<uint32_t>(utf8proc_toupper(code_point)));
  }
}

void append_lower(std::string& out, std::string_view piece, int32_t code_point) {
  if (code_point < 0) {
    out += piece;
  } else {
    append_utf8(out, static_cast<uint32_t>(utf8proc_tolower(code_point)));
  }
}

bool is_cased(int32_t code_point) {
  const int32_t kind = category(code_point);
  return kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL || kind == UTF8PROC_CATEGORY_LT;
}

bool strippable(std::string_view piece, int32_t code_point, std::optional<std::string_view> characters) {
  return characters ? characters->find(piece) != std::string_view::npos : is_space(code_point);
}

/// Offset of the last code point of a text that is not empty.
size_t last_code_point(std::string_view text) {
  for (size_t bytes = 1; bytes <= 4 && bytes <= text.size(); ++bytes) {
    if (decode_at(text, text.size() - bytes).bytes == bytes &&
        decode_at(text, text.size() - bytes).value >= 0) {
      return text.size() - bytes;
    }
  }
  return text.size() - 1;
}

}  // namespace

CodePoint decode_at(std::string_view text, size_t offset) {
  const auto lead = static_cast<unsigned char>(text[offset]);
  if (lead < 0x80) return {lead, 1};
  utf8proc_int32_t value = -1;
  const size_t left = std::min<size_t>(text.size() - offset, 4);
  const auto used = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + offset,
                                     static_cast<utf8proc_ssize_t>(left), &value);
  if (used <= 0) return {-1, 1};
  return {value, static_cast<size_t>(used)};
}

void append_utf8(std::string& out, uint32_t code_point) {
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
    return;
  }
  if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000)) code_point = kReplacement;
  utf8proc_uint8_t bytes[4];
  const auto used = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(used));
}

size_t count_code_points(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at += decode_at(text, at).bytes) ++count;
  return count;
}

size_t byte_offset(std::string_view text, size_t index) {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += decode_at(text, at).bytes;
  return at;
}

std::vector<std::string_view> split_code_points(std::string_view text) {
  std::vector<std::string_view> pieces;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = decode_at(text, at).bytes;
    pieces.push_back(text.substr(at, bytes));
    at += bytes;
  }
  return pieces;
}

bool is_space(int32_t code_point) {
  if (code_point < 0) return false;
  if (code_point == ' ' || (code_point >= 0x09 && code_point <= 0x0d)) return true;
  if (code_point >= 0x1c && code_point <= 0x1f) return true;
  if (code_point < 0x80) return false;
  const int32_t kind = category(code_point);
  return code_point == 0x85 || kind == UTF8PROC_CATEGORY_ZS || kind == UTF8PROC_CATEGORY_ZL ||
         kind == UTF8PROC_CATEGORY_ZP;
}

bool is_letter(int32_t code_point) {
  const int32_t kind = category(code_point);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal_digit(int32_t code_point) { return category(code_point) == UTF8PROC_CATEGORY_ND; }

bool is_word(int32_t code_point) {
  const int32_t kind = category(code_point);
  return code_point == '_' || is_letter(code_point) ||
         (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO);
}

bool is_upper(int32_t code_point) { return category(code_point) == UTF8PROC_CATEGORY_LU; }
bool is_lower(int32_t code_point) { return category(code_point) == UTF8PROC_CATEGORY_LL; }

std::string to_upper(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_at(text, at);
    append_upper(out, text.substr(at, point.bytes), point.value);
    at += point.bytes;
  }
  return out;
}

std::string to_lower(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_at(text, at);
    append_lower(out, text.substr(at, point.bytes), point.value);
    at += point.bytes;
  }
  return out;
}

std::string capitalize(std::string_view text) {
  if (text.empty()) return {};
  const size_t first = decode_at(text, 0).bytes;
  return to_upper(text.substr(0, first)) + to_lower(text.substr(first));
}

std::string title_case(std::string_view text) {
  std::string out;
  bool after_letter = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_at(text, at);
    const std::string_view piece = text.substr(at, point.bytes);
    if (after_letter) {
      append_lower(out, piece, point.value);
    } else {
      append_upper(out, piece, point.value);
    }
    after_letter = is_cased(point.value);
    at += point.bytes;
  }
  return out;
}

std::string_view strip(std::string_view text, Side side, std::optional<std::string_view> characters) {
  if (side != Side::kRight) {
    while (!text.empty()) {
      const CodePoint point = decode_at(text, 0);
      if (!strippable(text.substr(0, point.bytes), point.value, characters)) break;
      text.remove_prefix(point.bytes);
    }
  }
  if (side != Side::kLeft) {
    while (!text.empty()) {
      const size_t start = last_code_point(text);
      if (!strippable(text.substr(start), decode_at(text, start).value, characters)) break;
      text = text.substr(0, start);
    }
  }
  return text;
}

}  // namespace kvern::jinja
