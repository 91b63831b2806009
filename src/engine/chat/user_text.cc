#include "engine/chat/user_text.h"

#include <charconv>

#include "base/utf8.h"

namespace kvern::engine {
namespace {

// Two characters of the private use area around the literal's number, and one that marks an end. A text that
// holds them itself is protected like a literal, so every text survives.
constexpr std::string_view kOpen = "\xEF\xA3\xB0";     // U+F8F0
constexpr std::string_view kClose = "\xEF\xA3\xB1";    // U+F8F1
constexpr std::string_view kEndMark = "\xEF\xA3\xB2";  // U+F8F2

}  // namespace

UserText::UserText(const text::Tokenizer& tokenizer) {
  literals_ = {std::string(kOpen), std::string(kClose), std::string(kEndMark)};
  for (size_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const auto token = static_cast<text::TokenId>(id);
    if (!tokenizer.is_special(token)) continue;
    std::string literal = tokenizer.token_bytes(token);
    if (!literal.empty()) literals_.push_back(std::move(literal));
  }
  for (size_t i = 0; i < literals_.size(); ++i) places_.insert(literals_[i], static_cast<int32_t>(i));
}

std::string_view UserText::end_mark() { return kEndMark; }

std::string UserText::protect(std::string_view content) const {
  std::string valid;
  if (!is_valid_utf8(content)) content = valid = replace_invalid_utf8(content);
  std::string out;
  out.reserve(content.size());
  for (size_t at = 0; at < content.size();) {
    const auto literal = places_.longest(content, at);
    if (!literal) {
      out += content[at++];
      continue;
    }
    out.append(kOpen).append(std::to_string(literal->value)).append(kClose);
    at += literal->length;
  }
  return out;
}

MarkedText UserText::restore(std::string_view rendered) const {
  MarkedText result;
  for (size_t at = 0; at < rendered.size();) {
    const size_t open = rendered.find(kOpen, at);
    result.text += rendered.substr(at, open - at);
    if (open == std::string_view::npos) break;
    const size_t digits = open + kOpen.size();
    size_t index = 0;
    const auto [end, error] =
        std::from_chars(rendered.data() + digits, rendered.data() + rendered.size(), index);
    const auto close = static_cast<size_t>(end - rendered.data());
    if (error != std::errc{} || index >= literals_.size() || !rendered.substr(close).starts_with(kClose)) {
      // The template cut a marker in two, or holds the character itself: ordinary text.
      result.text += kOpen;
      at = digits;
      continue;
    }
    const size_t begin = result.text.size();
    result.text += literals_[index];
    result.plain.push_back({begin, result.text.size()});
    at = close + kClose.size();
  }
  return result;
}

}  // namespace kvern::engine
