#include "text/pre_tokenizer.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/characters.h"

namespace kvern::text {
namespace {

struct Part {
  Range range;
  bool is_match = false;
};

bool is_of(CharacterClass wanted, char32_t c) {
  switch (wanted) {
    case CharacterClass::kWhiteSpace:
      return is_white_space(c);
    case CharacterClass::kNumeric:
      return is_numeric(c);
    case CharacterClass::kPunctuation:
      return is_punctuation(c);
  }
  return false;
}

std::vector<Range> find_class(CharacterClass wanted, std::string_view text) {
  std::vector<Range> matches;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = decode_utf8(text.substr(at));
    if (is_of(wanted, step.code_point)) matches.push_back({at, at + step.length});
    at += step.length;
  }
  return matches;
}

/// The whole of `text` as alternating stretches that match and that do not.
std::vector<Part> find_parts(const SplitStep& step, std::string_view text) {
  const auto* pattern = std::get_if<Pattern>(&step.pattern);
  const std::vector<Range> matches =
      pattern != nullptr ? pattern->find_all(text) : find_class(std::get<CharacterClass>(step.pattern), text);
  std::vector<Part> parts;
  parts.reserve(matches.size() + 1);
  size_t done = 0;
  for (const Range match : matches) {
    if (done < match.begin) parts.push_back({{done, match.begin}, step.invert});
    parts.push_back({match, !step.invert});
    done = match.end;
  }
  if (done < text.size()) parts.push_back({{done, text.size()}, step.invert});
  return parts;
}

/// Joins each part to the last one where `joins(part, previous was a match)` says so.
template <typename Joins>
std::vector<Range> join_forward(const std::vector<Part>& parts, Joins joins) {
  std::vector<Range> out;
  bool previous = false;
  for (const Part& part : parts) {
    if (!out.empty() && joins(part.is_match, previous))
      out.back().end = part.range.end;
    else
      out.push_back(part.range);
    previous = part.is_match;
  }
  return out;
}

std::vector<Range> join_with_next(const std::vector<Part>& parts) {
  std::vector<Range> out;
  bool previous = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->is_match && !previous && !out.empty())
      out.back().begin = part->range.begin;
    else
      out.push_back(part->range);
    previous = part->is_match;
  }
  std::ranges::reverse(out);
  return out;
}

std::vector<Range> apply_behavior(SplitBehavior behavior, const std::vector<Part>& parts) {
  std::vector<Range> out;
  switch (behavior) {
    case SplitBehavior::kRemoved:
      for (const Part& part : parts)
        if (!part.is_match) out.push_back(part.range);
      return out;
    case SplitBehavior::kIsolated:
      for (const Part& part : parts) out.push_back(part.range);
      return out;
    case SplitBehavior::kMergedWithPrevious:
      return join_forward(parts, [](bool match, bool previous) { return match && !previous; });
    case SplitBehavior::kMergedWithNext:
      return join_with_next(parts);
    case SplitBehavior::kContiguous:
      return join_forward(parts, [](bool match, bool previous) { return match == previous; });
  }
  return out;
}

void append_ranges(std::vector<Range>& out, const std::vector<Range>& parts, size_t offset) {
  for (const Range part : parts)
    if (part.begin < part.end) out.push_back({part.begin + offset, part.end + offset});
}

void apply_step(const SplitStep& step, Pieces& pieces) {
  std::vector<Range> out;
  for (const Range range : pieces.ranges) {
    const std::string_view piece = std::string_view(pieces.text).substr(range.begin, range.end - range.begin);
    append_ranges(out, apply_behavior(step.behavior, find_parts(step, piece)), range.begin);
  }
  pieces.ranges = std::move(out);
}

/// Replaces each piece by what `spell(piece, out)` appends.
template <typename Spell>
void respell(Pieces& pieces, Spell spell) {
  std::string text;
  text.reserve(pieces.text.size() + pieces.text.size() / 2);
  for (Range& range : pieces.ranges) {
    const size_t begin = text.size();
    spell(std::string_view(pieces.text).substr(range.begin, range.end - range.begin), text);
    range = {begin, text.size()};
  }
  pieces.text = std::move(text);
}

void apply_step(const PrefixSpaceStep&, Pieces& pieces) {
  respell(pieces, [](std::string_view piece, std::string& out) {
    if (!piece.starts_with(' ')) out += ' ';
    out += piece;
  });
}

void apply_step(const ByteLevelStep&, Pieces& pieces) {
  respell(pieces, [](std::string_view piece, std::string& out) { append_byte_characters(out, piece); });
}

bool prepends(const MetaspaceStep& step, std::string_view piece, bool first) {
  if (piece.starts_with(step.replacement)) return false;
  return step.scheme == PrependScheme::kAlways || (step.scheme == PrependScheme::kFirst && first);
}

void apply_step(const MetaspaceStep& step, Pieces& pieces) {
  const SplitStep at_spaces{.pattern = Pattern{.literal = step.replacement, .regex = {}},
                            .behavior = SplitBehavior::kMergedWithNext};
  const Replacement spaces{.pattern = Pattern{.literal = " ", .regex = {}}, .content = step.replacement};
  std::string text;
  std::vector<Range> out;
  for (const Range range : pieces.ranges) {
    std::string piece =
        spaces.apply(std::string_view(pieces.text).substr(range.begin, range.end - range.begin));
    if (prepends(step, piece, pieces.at_start && range.begin == 0)) piece.insert(0, step.replacement);
    if (step.split)
      append_ranges(out, apply_behavior(at_spaces.behavior, find_parts(at_spaces, piece)), text.size());
    else
      out.push_back({text.size(), text.size() + piece.size()});
    text += piece;
  }
  pieces.text = std::move(text);
  pieces.ranges = std::move(out);
}

}  // namespace

void PreTokenizer::add(PreTokenizerStep step) { steps_.push_back(std::move(step)); }

Pieces PreTokenizer::split(std::string text, bool at_start) const {
  Pieces pieces{.text = std::move(text), .ranges = {}, .at_start = at_start};
  if (!pieces.text.empty()) pieces.ranges.push_back({0, pieces.text.size()});
  for (const PreTokenizerStep& step : steps_) std::visit([&](const auto& s) { apply_step(s, pieces); }, step);
  return pieces;
}

bool PreTokenizer::keeps_escaped_bytes() const {
  return std::ranges::all_of(steps_, [](const PreTokenizerStep& step) {
    if (std::holds_alternative<MetaspaceStep>(step)) return true;
    const auto* split = std::get_if<SplitStep>(&step);
    if (split == nullptr) return false;
    const auto* pattern = std::get_if<Pattern>(&split->pattern);
    return pattern != nullptr && !pattern->regex;
  });
}

}  // namespace kvern::text
