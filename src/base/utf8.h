// UTF-8 (RFC 3629): validating, decoding, encoding, and replacing what is not valid. Surrogates, overlong
// forms and code points above U+10FFFF are not valid.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvern {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

/// What stands at the start of some bytes.
struct Utf8Step {
  char32_t code_point = kReplacementCharacter;  ///< kReplacementCharacter when not `valid`.
  /// Bytes to go forward, at least 1. When not valid: the longest beginning of a character that is there, or
  /// 1 (Unicode 15, section 3.9, "substitution of maximal subparts"), so each ill-formed run becomes as many
  /// U+FFFD as in browsers and Python.
  size_t length = 1;
  bool valid = false;
};

/// Decodes the first character of `text`, which must not be empty.
Utf8Step decode_utf8(std::string_view text);

bool is_valid_utf8(std::string_view text);

/// Appends one character; a value that is no Unicode scalar becomes U+FFFD.
void append_utf8(std::string& out, char32_t code_point);

/// A valid copy: each ill-formed run replaced by U+FFFD as Utf8Step says.
std::string replace_invalid_utf8(std::string_view text);

/// How many bytes at the end of `text` (0 to 3) are the beginning of a character that more bytes could
/// complete. A stream holds these back.
size_t incomplete_utf8_suffix(std::string_view text);

}  // namespace kvern
