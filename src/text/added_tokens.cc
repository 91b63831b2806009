#include "text/added_tokens.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/characters.h"

namespace kvern::text {
namespace {

bool touches_word(std::string_view text, Range match) {
  const auto before = last_character(text.substr(0, match.begin));
  const auto after = first_character(text.substr(match.end));
  return (before && is_word(*before)) || (after && is_word(*after));
}

size_t without_space_at_end(std::string_view text) {
  while (const auto c = last_character(text)) {
    if (!is_white_space(*c)) break;
    size_t length = 1;
    while ((static_cast<unsigned char>(text[text.size() - length]) & 0xC0) == 0x80) ++length;
    text.remove_suffix(length);
  }
  return text.size();
}

size_t space_at_start(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && is_white_space(decode_utf8(text.substr(at)).code_point))
    at += character_length(text, at);
  return at;
}

}  // namespace

bool SpecialParsing::allows(Range literal) const {
  // The first stretch that ends after the literal begins is the only one that can touch it first.
  const auto stretch =
      std::ranges::upper_bound(plain, literal.begin, {}, [](const Range& range) { return range.end; });
  return enabled && (stretch == plain.end() || stretch->begin >= literal.end);
}

void AddedTokenMatcher::add(const AddedToken& token, std::string_view literal) {
  if (literal.empty()) return;
  trie_.insert(literal, static_cast<int32_t>(tokens_.size()));
  tokens_.push_back(token);
}

std::vector<Segment> AddedTokenMatcher::split(std::string_view text, const SpecialParsing& parsing) const {
  std::vector<Segment> segments;
  size_t done = 0;
  if (!trie_.empty()) {
    for (size_t at = 0; at < text.size();) {
      const auto match = trie_.longest(text, at);
      if (!match) {
        ++at;
        continue;
      }
      Range range{at, at + match->length};
      at = range.end;
      const AddedToken& token = tokens_[static_cast<size_t>(match->value)];
      if (token.special && !parsing.allows(range)) {
        // Another one may begin where a stretch ends, inside this one.
        if (parsing.enabled) at = range.begin + 1;
        continue;
      }
      if (token.single_word && touches_word(text, range)) continue;
      if (token.lstrip) range.begin = std::max(done, without_space_at_end(text.substr(0, range.begin)));
      if (token.rstrip) range.end += space_at_start(text.substr(range.end));
      // A token before this one may have taken the space after it, and this one may lie inside that space.
      range.begin = std::max(range.begin, done);
      range.end = std::max(range.end, range.begin);
      if (done < range.begin) segments.push_back({.range = {done, range.begin}});
      segments.push_back({.range = range, .token = token.id});
      done = range.end;
    }
  }
  if (done < text.size()) segments.push_back({.range = {done, text.size()}});
  return segments;
}

}  // namespace kvern::text
