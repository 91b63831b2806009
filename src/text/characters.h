// Classes of characters as Rust's `char` and `regex` define them, because the reference tokenizers are
// written in it; and the form in which bytes that are not UTF-8 travel through a tokenizer.
//
// An escaped byte b (0x80..0xFF) is the three-byte form of the surrogate U+DC00 + b. Valid UTF-8 has no
// surrogates, so no text can be mistaken for one (the scheme of Python's "surrogateescape", PEP 383).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvern::text {

/// Unicode White_Space.
bool is_white_space(char32_t c);
/// General category Nd, Nl or No.
bool is_numeric(char32_t c);
/// ASCII punctuation and symbols, or general category P*.
bool is_punctuation(char32_t c);
/// `\w` of a Unicode regular expression: letters, marks, decimal digits, connectors, joiners.
bool is_word(char32_t c);
/// General category Mn, Mc or Me.
bool is_mark(char32_t c);

/// The length of the character that starts at `at`, which must be below text.size(). `text` is valid UTF-8,
/// or has escaped bytes.
size_t character_length(std::string_view text, size_t at);

/// `text` as valid UTF-8 in which each byte that belongs to no character is escaped.
std::string escape_invalid_bytes(std::string_view text);
/// The byte that `character` (one character) stands for, if it is an escaped one.
std::optional<uint8_t> escaped_byte(std::string_view character);

/// The character after which `text` starts, and the one with which it ends; none of an empty text.
std::optional<char32_t> first_character(std::string_view text);
std::optional<char32_t> last_character(std::string_view text);

}  // namespace kvern::text
