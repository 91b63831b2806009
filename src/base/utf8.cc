#include "base/utf8.h"

#include "base/check.h"

namespace kvern {
namespace {

/// What a lead byte promises; `low` and `high` bound the second byte, which rules out overlong forms,
/// surrogates and values above U+10FFFF (Unicode 15, table 3-7).
struct Lead {
  size_t length = 0;  ///< 0: not a lead byte.
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {.length = 1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {.length = 2};
  if (byte == 0xE0) return {.length = 3, .low = 0xA0};
  if (byte == 0xED) return {.length = 3, .high = 0x9F};
  if (byte < 0xF0) return {.length = 3};
  if (byte == 0xF0) return {.length = 4, .low = 0x90};
  if (byte < 0xF4) return {.length = 4};
  if (byte == 0xF4) return {.length = 4, .high = 0x8F};
  return {};
}

/// Bytes of `text` that agree with what its lead byte promises; 0 when the first is no lead byte.
size_t matching_bytes(std::string_view text, const Lead& lead) {
  if (lead.length == 0) return 0;
  size_t count = 1;
  for (; count < lead.length && count < text.size(); ++count) {
    const auto byte = static_cast<unsigned char>(text[count]);
    const bool fits = count == 1 ? byte >= lead.low && byte <= lead.high : (byte & 0xC0) == 0x80;
    if (!fits) break;
  }
  return count;
}

}  // namespace

Utf8Step decode_utf8(std::string_view text) {
  KVERN_DCHECK(!text.empty());
  const auto first = static_cast<unsigned char>(text[0]);
  const Lead lead = lead_of(first);
  const size_t count = matching_bytes(text, lead);
  if (lead.length == 0 || count < lead.length) return {.length = count == 0 ? 1 : count};
  if (count == 1) return {.code_point = first, .length = 1, .valid = true};
  char32_t value = first & (0x7Fu >> count);
  for (size_t i = 1; i < count; ++i) value = (value << 6) | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  return {.code_point = value, .length = count, .valid = true};
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = decode_utf8(text);
    if (!step.valid) return false;
    text.remove_prefix(step.length);
  }
  return true;
}

void append_utf8(std::string& out, char32_t code_point) {
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF))
    code_point = kReplacementCharacter;
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code_point >> shift) & 0x3F)); };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xC0 | (code_point >> 6));
    tail(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xE0 | (code_point >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code_point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = decode_utf8(text);
    if (step.valid)
      out += text.substr(0, step.length);
    else
      append_utf8(out, kReplacementCharacter);
    text.remove_prefix(step.length);
  }
  return out;
}

size_t incomplete_utf8_suffix(std::string_view text) {
  for (size_t length = 1; length <= 3 && length <= text.size(); ++length) {
    const std::string_view suffix = text.substr(text.size() - length);
    const Lead lead = lead_of(static_cast<unsigned char>(suffix[0]));
    if (lead.length > length && matching_bytes(suffix, lead) == length) return length;
  }
  return 0;
}

}  // namespace kvern
