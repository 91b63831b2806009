#include "text/grammar/char_set.h"

#include <algorithm>

#include "base/check.h"

namespace kvern::text::grammar {
namespace {

constexpr char32_t kFirstSurrogate = 0xD800;
constexpr char32_t kBeforeSurrogates = 0xD7FF;
constexpr char32_t kLastSurrogate = 0xDFFF;
constexpr char32_t kAfterSurrogates = 0xE000;

/// The largest code point of each length of UTF-8.
constexpr std::array<char32_t, 4> kLastOfLength{0x7F, 0x7FF, 0xFFFF, kMaxCodePoint};

struct Encoded {
  std::array<uint8_t, 4> bytes{};
  uint32_t length = 0;
};

Encoded encode(char32_t c) {
  const auto tail = [c](unsigned shift) { return static_cast<uint8_t>(0x80U | ((c >> shift) & 0x3FU)); };
  if (c <= kLastOfLength[0]) return {.bytes = {static_cast<uint8_t>(c)}, .length = 1};
  if (c <= kLastOfLength[1]) return {.bytes = {static_cast<uint8_t>(0xC0U | (c >> 6)), tail(0)}, .length = 2};
  if (c <= kLastOfLength[2])
    return {.bytes = {static_cast<uint8_t>(0xE0U | (c >> 12)), tail(6), tail(0)}, .length = 3};
  return {.bytes = {static_cast<uint8_t>(0xF0U | (c >> 18)), tail(12), tail(6), tail(0)}, .length = 4};
}

/// A range of characters of one length, cut until first and last differ in whole blocks of trailing bytes
/// only.
void append_sequences(CharRange range, std::vector<ByteSequence>& out) {
  for (unsigned tails = 1; tails < encode(range.last).length; ++tails) {
    const char32_t block = (char32_t{1} << (6 * tails)) - 1;
    if ((range.first & ~block) == (range.last & ~block)) continue;
    if ((range.first & block) != 0) {
      append_sequences({range.first, range.first | block}, out);
      append_sequences({(range.first | block) + 1, range.last}, out);
      return;
    }
    if ((range.last & block) != block) {
      append_sequences({range.first, (range.last & ~block) - 1}, out);
      append_sequences({range.last & ~block, range.last}, out);
      return;
    }
  }
  const Encoded first = encode(range.first);
  const Encoded last = encode(range.last);
  ByteSequence sequence{.length = first.length};
  for (uint32_t i = 0; i < first.length; ++i) sequence.ranges[i] = {first.bytes[i], last.bytes[i]};
  out.push_back(sequence);
}

}  // namespace

CharSet::CharSet(std::vector<CharRange> ranges) {
  std::vector<CharRange> valid;
  for (CharRange range : ranges) {
    range.last = std::min(range.last, kMaxCodePoint);
    if (range.first > range.last) continue;
    if (range.first < kFirstSurrogate)
      valid.push_back({range.first, std::min(range.last, kBeforeSurrogates)});
    if (range.last > kLastSurrogate) valid.push_back({std::max(range.first, kAfterSurrogates), range.last});
  }
  std::ranges::sort(valid, {}, &CharRange::first);
  for (const CharRange& range : valid) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1)
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    else
      ranges_.push_back(range);
  }
}

CharSet CharSet::all() { return CharSet({{0, kMaxCodePoint}}); }

CharSet CharSet::complement() const {
  std::vector<CharRange> gaps;
  char32_t next = 0;
  for (const CharRange& range : ranges_) {
    if (range.first > next) gaps.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kMaxCodePoint) gaps.push_back({next, kMaxCodePoint});
  return CharSet(std::move(gaps));
}

CharSet CharSet::united(const CharSet& other) const {
  std::vector<CharRange> ranges = ranges_;
  ranges.insert(ranges.end(), other.ranges_.begin(), other.ranges_.end());
  return CharSet(std::move(ranges));
}

CharSet CharSet::intersected(const CharSet& other) const {
  CharSet both;
  size_t i = 0;
  size_t j = 0;
  while (i < ranges_.size() && j < other.ranges_.size()) {
    const CharRange& a = ranges_[i];
    const CharRange& b = other.ranges_[j];
    const char32_t first = std::max(a.first, b.first);
    const char32_t last = std::min(a.last, b.last);
    if (first <= last) both.ranges_.push_back({first, last});
    ++(a.last < b.last ? i : j);
  }
  return both;
}

bool CharSet::contains(char32_t c) const {
  const auto after = std::ranges::upper_bound(ranges_, c, {}, &CharRange::first);
  return after != ranges_.begin() && std::prev(after)->last >= c;
}

std::vector<ByteSequence> byte_sequences(CharRange range) {
  KVERN_CHECK(range.first <= range.last && range.last <= kMaxCodePoint);
  std::vector<ByteSequence> sequences;
  for (const char32_t longest : kLastOfLength) {
    if (range.first > longest) continue;
    append_sequences({range.first, std::min(range.last, longest)}, sequences);
    if (range.last <= longest) break;
    range.first = longest + 1;
  }
  return sequences;
}

void append_utf8(std::string& text, char32_t c) {
  const Encoded encoded = encode(c);
  for (uint32_t i = 0; i < encoded.length; ++i) text.push_back(static_cast<char>(encoded.bytes[i]));
}

DecodedChar decode_utf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {.value = lead, .length = 1};
  const uint32_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
  char32_t value = lead & (0x7FU >> length);
  for (uint32_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3FU);
  }
  const bool overlong = value <= kLastOfLength[length - 2];
  if (overlong || value > kMaxCodePoint || (value >= kFirstSurrogate && value <= kLastSurrogate)) return {};
  return {.value = value, .length = length};
}

}  // namespace kvern::text::grammar
