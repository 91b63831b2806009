// int(), float() and round().
#include "text/template/number_text.h"

#include <charconv>
#include <cmath>
#include <string>

#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

/// Removes underscores that stand between two digits or letters; empty if one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    if (i == 0 || i + 1 == text.size() || text[i + 1] == '_' || out.back() == '+' || out.back() == '-')
      return {};
  }
  return out;
}

int prefix_base(std::string_view digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  switch (digits[1] | 0x20) {
    case 'x':
      return 16;
    case 'o':
      return 8;
    case 'b':
      return 2;
    default:
      return 10;
  }
}

}  // namespace

std::optional<int64_t> parse_integer(std::string_view text, int base) {
  const auto plain = without_underscores(strip(text, Side::kBoth));
  if (!plain) return {};
  std::string_view digits = *plain;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const int prefix = prefix_base(digits);
  if (prefix != 10 && (base == prefix || base == 0)) {
    digits.remove_prefix(2);
    base = prefix;
  }
  if (base == 0) base = 10;
  if (base < 2 || base > 36 || digits.empty() || digits[0] == '-') return {};
  const std::string signed_digits = (negative ? "-" : "") + std::string(digits);
  int64_t value = 0;
  const char* end = signed_digits.data() + signed_digits.size();
  const auto parsed = std::from_chars(signed_digits.data(), end, value, base);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return {};
  return value;
}

std::optional<double> parse_float(std::string_view text) {
  const auto plain = without_underscores(strip(text, Side::kBoth));
  if (!plain) return {};
  std::string_view digits = *plain;
  if (digits.starts_with('+')) {
    digits.remove_prefix(1);
    if (digits.starts_with('-')) return {};
  }
  double value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ptr != digits.data() + digits.size() || digits.empty()) return {};
  if (parsed.ec == std::errc::result_out_of_range) {
    const bool tiny =
        digits.find("e-") != std::string_view::npos || digits.find("E-") != std::string_view::npos;
    const double magnitude = tiny ? 0.0 : HUGE_VAL;
    return digits.starts_with('-') ? -magnitude : magnitude;
  }
  if (parsed.ec != std::errc{} || digits.ends_with(')')) return {};  // no nan(payload)
  return value;
}

double round_decimal(double value, int digits) {
  if (!std::isfinite(value) || digits > 300) return value;
  if (digits < -308) return std::copysign(0.0, value);
  if (digits < 0) {
    const double unit = std::pow(10.0, -digits);
    return std::nearbyint(value / unit) * unit;
  }
  char buffer[700];  // 309 digits before the point, 300 behind it
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, digits).ptr;
  double rounded = 0;
  std::from_chars(buffer, end, rounded);
  return rounded;
}

}  // namespace kvern::jinja
