// Strings as Python sees them: sequences of code points, although they are kept as UTF-8.
//
// A byte that does not belong to a valid UTF-8 sequence counts as one code point of its own and passes
// through unchanged, so that no input is lost and none is an error here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvern::jinja {

/// One code point of a text. `value` is negative for a stray byte.
struct CodePoint {
  int32_t value = 0;
  size_t bytes = 1;
};

/// Decodes the code point that starts at `offset`, which must be below text.size().
CodePoint decode_at(std::string_view text, size_t offset);
/// Appends the UTF-8 form of a code point (a scalar value; anything else becomes U+FFFD).
void append_utf8(std::string& out, uint32_t code_point);

size_t count_code_points(std::string_view text);
/// Byte offset of code point `index`; text.size() if there are fewer.
size_t byte_offset(std::string_view text, size_t index);
/// Each code point as its own view into `text`.
std::vector<std::string_view> split_code_points(std::string_view text);

/// str.isspace of one code point (Python's set: Unicode White_Space and the four separators 0x1c to 0x1f).
bool is_space(int32_t code_point);
bool is_letter(int32_t code_point);
bool is_decimal_digit(int32_t code_point);
/// A letter, digit or underscore: what `\w` matches.
bool is_word(int32_t code_point);
bool is_upper(int32_t code_point);
bool is_lower(int32_t code_point);

/// Simple one-to-one case mappings plus the common one-to-many ones (sharp s).
std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
/// First letter upper case, the rest lower.
std::string capitalize(std::string_view text);
/// str.title: a letter is upper case when the code point before it is not a letter.
std::string title_case(std::string_view text);

enum class Side : uint8_t { kBoth, kLeft, kRight };
/// Removes white space, or the code points of `characters` where given, from the ends.
std::string_view strip(std::string_view text, Side side, std::optional<std::string_view> characters = {});

}  // namespace kvern::jinja
