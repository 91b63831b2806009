// Text to numbers and numbers to text, by Python's rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kvern::jinja {

/// int(text, base): surrounding space, a sign, single underscores, a base prefix. Empty if the text is no
/// integer or leaves 64 bits.
std::optional<int64_t> parse_integer(std::string_view text, int base);
/// float(text), including inf and nan.
std::optional<double> parse_float(std::string_view text);
/// round(value, digits): correctly rounded, halves to even. `digits` may be negative.
double round_decimal(double value, int digits);

}  // namespace kvern::jinja
