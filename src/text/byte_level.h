// GPT-2's printable spelling of bytes: each of the 256 bytes has one character (openai/gpt-2, encoder.py,
// bytes_to_unicode). Printable Latin-1 stands for itself, the other 68 bytes are U+0100 onwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvern::text {

/// Appends the character of each byte.
void append_byte_characters(std::string& out, std::string_view bytes);

/// Appends the bytes that the characters of `text` stand for; false (and `out` is as before) when one of them
/// stands for none.
bool append_bytes_of_characters(std::string& out, std::string_view text);

}  // namespace kvern::text
