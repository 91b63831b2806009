// Comparing what HTTP compares without regard to case.
#pragma once

#include <algorithm>
#include <string_view>

namespace kvern::server {

constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Names of headers and of what stands in them (RFC 9110, section 5.1): ASCII, case does not matter.
constexpr bool same_header_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

}  // namespace kvern::server
