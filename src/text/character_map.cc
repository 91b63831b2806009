#include "text/character_map.h"

#include <cstring>

#include <fmt/format.h>
#include <utf8proc.h>

#include "base/utf8.h"
#include "text/characters.h"

namespace kvern::text {
namespace {

// A unit of Darts-clone: bit 8 says that a value follows, bits 10..30 hold the offset to the children
// (shifted by 8 more when bit 9 is set), and bit 31 with the low byte is the label. A value unit keeps its
// value in bits 0..30.
bool has_value(uint32_t unit) { return ((unit >> 8) & 1) == 1; }
uint32_t value_of(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t label_of(uint32_t unit) { return unit & 0x800000FF; }
uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

// The reference looks a whole cluster up only when it is shorter than this.
constexpr size_t kMaxGraphemeBytes = 6;

}  // namespace

Result<CharacterMap> CharacterMap::parse(std::string_view blob, Matching matching, const std::string& where) {
  uint32_t trie_bytes = 0;
  if (blob.size() < sizeof(trie_bytes))
    return fail(ErrorCode::kCorrupt,
                fmt::format("precompiled_charsmap of {} bytes; at least 4 are needed", blob.size()), where);
  std::memcpy(&trie_bytes, blob.data(), sizeof(trie_bytes));
  blob.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes > blob.size() || trie_bytes % sizeof(uint32_t) != 0 || trie_bytes == 0)
    return fail(ErrorCode::kCorrupt,
                fmt::format("precompiled_charsmap: a trie of {} bytes in {} bytes", trie_bytes, blob.size()),
                where);
  CharacterMap map;
  map.units_.resize(trie_bytes / sizeof(uint32_t));
  std::memcpy(map.units_.data(), blob.data(), trie_bytes);
  map.replacements_ = replace_invalid_utf8(blob.substr(trie_bytes));
  // Replacing would move the offsets that the trie holds, so bad text is an error.
  if (map.replacements_.size() != blob.size() - trie_bytes || map.replacements_ != blob.substr(trie_bytes))
    return fail(ErrorCode::kCorrupt, "precompiled_charsmap: the replacement texts are not UTF-8", where);
  map.matching_ = matching;
  return map;
}

std::optional<CharacterMap::Rule> CharacterMap::find(std::string_view text, Which which) const {
  std::optional<Rule> found;
  size_t node = offset_of(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0) break;
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) break;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_value(unit)) continue;
    if (node >= units_.size()) break;
    const size_t offset = value_of(units_[node]);
    if (offset >= replacements_.size()) break;
    const size_t end = replacements_.find('\0', offset);
    if (end == std::string::npos) break;
    found =
        Rule{.length = i + 1, .replacement = std::string_view(replacements_).substr(offset, end - offset)};
    if (which == Which::kShortest) break;
  }
  return found;
}

std::string CharacterMap::apply(std::string_view text) const {
  std::string out = matching_ == Matching::kGraphemes ? apply_graphemes(text) : apply_longest(text);
  // A hostile trie may match in the middle of a character.
  return is_valid_utf8(out) ? out : replace_invalid_utf8(out);
}

std::string CharacterMap::apply_longest(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    size_t length = character_length(text, 0);
    if (const auto rule = find(text, Which::kLongest)) {
      length = rule->length;
      out += rule->replacement;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string CharacterMap::apply_graphemes(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  size_t start = 0;
  utf8proc_int32_t state = 0;
  char32_t previous = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = decode_utf8(text.substr(at));
    if (at > 0 && utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous),
                                                   static_cast<utf8proc_int32_t>(step.code_point), &state)) {
      append_grapheme(out, text.substr(start, at - start));
      start = at;
    }
    previous = step.code_point;
    at += step.length;
  }
  append_grapheme(out, text.substr(start));
  return out;
}

void CharacterMap::append_grapheme(std::string& out, std::string_view grapheme) const {
  if (grapheme.size() < kMaxGraphemeBytes) {
    // The reference takes the shortest rule that begins the cluster as the rule for all of it.
    if (const auto rule = find(grapheme, Which::kShortest)) {
      out += rule->replacement;
      return;
    }
  }
  while (!grapheme.empty()) {
    const std::string_view character = grapheme.substr(0, character_length(grapheme, 0));
    const auto rule = find(character, Which::kShortest);
    out += rule ? rule->replacement : character;
    grapheme.remove_prefix(character.size());
  }
}

}  // namespace kvern::text
