// Sets of Unicode scalar values, and the UTF-8 byte sequences that spell them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvern::text::grammar {

inline constexpr char32_t kMaxCodePoint = 0x10FFFF;

/// First to last, both included.
struct CharRange {
  char32_t first = 0;
  char32_t last = 0;
  bool operator==(const CharRange&) const = default;
};

/// Rising, disjoint, not adjacent, without surrogates. A value.
class CharSet {
 public:
  CharSet() = default;
  /// Ranges in any order, overlapping or not; what is no scalar value is left out.
  explicit CharSet(std::vector<CharRange> ranges);
  static CharSet all();
  static CharSet of(char32_t c) { return CharSet({{c, c}}); }

  CharSet complement() const;
  CharSet united(const CharSet& other) const;
  CharSet intersected(const CharSet& other) const;
  CharSet without(const CharSet& other) const { return intersected(other.complement()); }
  bool contains(char32_t c) const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<CharRange>& ranges() const { return ranges_; }
  bool operator==(const CharSet&) const = default;

 private:
  std::vector<CharRange> ranges_;
};

/// One to four ranges of bytes; every choice of one byte from each spells one scalar value.
struct ByteSequence {
  struct Range {
    uint8_t first = 0;
    uint8_t last = 0;
  };
  std::array<Range, 4> ranges{};
  uint32_t length = 0;
};

/// The sequences that together spell exactly the characters of a range without surrogates: well-formed UTF-8
/// (RFC 3629) only.
std::vector<ByteSequence> byte_sequences(CharRange range);

void append_utf8(std::string& text, char32_t c);

/// One character of UTF-8 text.
struct DecodedChar {
  char32_t value = 0;
  /// Bytes taken; 0 where the text is not UTF-8.
  uint32_t length = 0;
};
/// The character at the beginning of `text`, which must not be empty.
DecodedChar decode_utf8(std::string_view text);

}  // namespace kvern::text::grammar
