#include "text/normalizer.h"

#include <cstdlib>

#include <utf8proc.h>

#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/characters.h"

namespace kvern::text {
namespace {

bool is_ascii(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
}

/// Calls f(character, its bytes) for each character of valid UTF-8.
template <typename F>
void for_each_character(std::string_view text, F f) {
  while (!text.empty()) {
    const Utf8Step step = decode_utf8(text);
    f(step.code_point, text.substr(0, step.length));
    text.remove_prefix(step.length);
  }
}

std::string apply_step(UnicodeForm form, std::string text) {
  if (is_ascii(text)) return text;
  int options = UTF8PROC_STABLE;
  const bool composed = form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
  options |= composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* out = nullptr;
  const auto length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &out, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(out, &std::free);
  if (length < 0) return text;
  return std::string(reinterpret_cast<const char*>(out), static_cast<size_t>(length));
}

std::string apply_step(const Prepend& step, std::string text) {
  if (!text.empty()) text.insert(0, step.text);
  return text;
}

std::string apply_step(const Replacement& step, std::string text) { return step.apply(text); }

std::string apply_step(const Lowercase&, std::string text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](char32_t c, std::string_view) {
    append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    if (c == 0x130) append_utf8(out, 0x307);  // The one lower case of two characters: i and a dot above.
  });
  return out;
}

std::string apply_step(const StripAccents&, std::string text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    if (!is_mark(c)) out += bytes;
  });
  return out;
}

std::string apply_step(const StripSpace& step, std::string text) {
  size_t begin = text.size();
  size_t end = 0;
  size_t at = 0;
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    if (!is_white_space(c)) {
      begin = std::min(begin, at);
      end = at + bytes.size();
    }
    at += bytes.size();
  });
  if (end == 0) return step.left || step.right ? std::string() : text;
  if (!step.left) begin = 0;
  if (!step.right) end = text.size();
  return text.substr(begin, end - begin);
}

bool nmt_removes(char32_t c) {
  return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
         c == 0x9F;
}

bool nmt_makes_space(char32_t c) {
  return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
         c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

std::string apply_step(const Nmt&, std::string text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    if (nmt_removes(c)) return;
    if (nmt_makes_space(c))
      out += ' ';
    else
      out += bytes;
  });
  return out;
}

std::string apply_step(const BytesToCharacters&, std::string text) {
  std::string out;
  append_byte_characters(out, text);
  return out;
}

std::string apply_step(const RemoveExtraSpaces&, std::string text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text)
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string apply_step(const CharacterMap& map, std::string text) { return map.apply(text); }

}  // namespace

void Normalizer::add(NormalizerStep step) { steps_.push_back(std::move(step)); }

bool Normalizer::keeps_escaped_bytes() const {
  for (const NormalizerStep& step : steps_) {
    const auto* replacement = std::get_if<Replacement>(&step);
    const bool keeps = std::holds_alternative<Prepend>(step) ||
                       std::holds_alternative<RemoveExtraSpaces>(step) ||
                       (replacement != nullptr && !replacement->pattern.regex);
    if (!keeps) return false;
  }
  return true;
}

std::string Normalizer::apply(std::string text) const {
  for (const NormalizerStep& step : steps_)
    text = std::visit([&](const auto& s) { return apply_step(s, std::move(text)); }, step);
  return text;
}

}  // namespace kvern::text
