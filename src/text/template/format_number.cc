// Numbers in d, x, o, b, f, e, g and % form, and padding.
#include "text/template/format_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/template/printing.h"
#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return text;
}

std::string group_thousands(const std::string& digits) {
  const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  std::string out;
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out + digits.substr(whole);
}

std::string integer_digits(int64_t value, const FormatSpec& spec) {
  const char type = static_cast<char>(spec.type | 0x20);
  const int base = type == 'x' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  char buffer[72];
  std::string digits(buffer, std::to_chars(buffer, buffer + sizeof buffer, magnitude, base).ptr);
  if (spec.type == 'X') digits = upper_case(digits);
  if (spec.alternate && base != 10) digits = std::string("0") + spec.type + digits;
  return spec.thousands ? group_thousands(digits) : digits;
}

/// Digits of a value that is not negative.
std::string float_digits(double value, const FormatSpec& spec) {
  const char type = static_cast<char>(spec.type == '\0' ? 'g' : spec.type | 0x20);
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return "inf";
  if (spec.type == '\0' && !spec.precision) return float_repr(value);
  const int precision = spec.precision.value_or(6);
  char buffer[1024];
  char* const end = buffer + sizeof buffer;
  const auto form = type == 'e'   ? std::chars_format::scientific
                    : type == 'f' ? std::chars_format::fixed
                                  : std::chars_format::general;
  const auto result =
      std::to_chars(buffer, end, value, form, type == 'g' ? std::max(precision, 1) : precision);
  return {buffer, result.ptr};
}

}  // namespace

Result<int> read_number(std::string_view text, size_t& at, int most) {
  int value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = value * 10 + (text[at] - '0');
    if (value > most) return fail(ErrorCode::kExhausted, "a number in a format is too large");
  }
  return value;
}

Result<std::string> format_number(const Value& value, const FormatSpec& spec) {
  if (!value.is_number()) return template_error("a number is needed, not " + value.type_name());
  const bool integer_type = spec.type != '\0' && std::string_view("dxXob").contains(spec.type);
  std::string digits;
  bool negative = false;
  if (value.is_integral() && (integer_type || spec.type == '\0')) {
    negative = value.as_int() < 0;
    digits = integer_digits(value.as_int(), spec);
  } else if (integer_type) {
    return template_error(std::string("format '") + spec.type + "' needs an integer");
  } else {
    double number = value.as_double();
    FormatSpec plain = spec;
    if (spec.type == '%') {
      number *= 100;
      plain.type = 'f';
    }
    negative = std::signbit(number) && !std::isnan(number);
    digits = float_digits(std::fabs(number), plain);
    if (spec.thousands) digits = group_thousands(digits);
    if (spec.type == 'E' || spec.type == 'F' || spec.type == 'G') digits = upper_case(digits);
    if (spec.type == '%') digits += '%';
  }
  if (negative) return "-" + digits;
  return spec.sign == '-' ? digits : spec.sign + digits;
}

std::string pad(std::string text, const FormatSpec& spec, char default_align) {
  const size_t length = count_code_points(text);
  const auto width = static_cast<size_t>(std::max(spec.width, 0));
  if (length >= width) return text;
  const size_t missing = width - length;
  const char align = spec.align == '\0' ? default_align : spec.align;
  const auto filling = [&](size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += spec.fill;
    return out;
  };
  if (align == '<') return text + filling(missing);
  if (align == '^') return filling(missing / 2) + text + filling(missing - missing / 2);
  const bool has_sign = align == '=' && !text.empty() && std::string_view("+- ").contains(text[0]);
  const size_t sign = has_sign ? 1 : 0;
  return text.substr(0, sign) + filling(missing) + text.substr(sign);
}

}  // namespace kvern::jinja
