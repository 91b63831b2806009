// str() and repr().
#include "text/template/printing.h"

#include <charconv>
#include <cmath>

#include <utf8proc.h>

#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

/// Python writes floats with these decimal exponents without an `e`.
constexpr int kMinFixedExponent = -4;
constexpr int kMaxFixedExponent = 16;

bool is_printable(int32_t code_point) {
  if (code_point < 0) return false;
  if (code_point == ' ') return true;
  switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
      return false;
    default:
      return true;
  }
}

void append_hex(std::string& out, char mark, uint32_t value, int digits) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '\\';
  out += mark;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += kHex[(value >> shift) & 15];
}

void append_escape(std::string& out, std::string_view piece, int32_t code_point) {
  if (code_point == '\n') {
    out += "\\n";
  } else if (code_point == '\r') {
    out += "\\r";
  } else if (code_point == '\t') {
    out += "\\t";
  } else if (code_point < 0) {
    append_hex(out, 'x', static_cast<unsigned char>(piece[0]), 2);
  } else if (code_point < 0x100) {
    append_hex(out, 'x', static_cast<uint32_t>(code_point), 2);
  } else if (code_point < 0x10000) {
    append_hex(out, 'u', static_cast<uint32_t>(code_point), 4);
  } else {
    append_hex(out, 'U', static_cast<uint32_t>(code_point), 8);
  }
}

Status append_items(Runtime& runtime, std::string& out, const List& list) {
  out += list.is_tuple() ? '(' : '[';
  bool first = true;
  for (const Value& item : list.items) {
    if (!first) out += ", ";
    first = false;
    KVERN_TRY_STATUS(append_repr(runtime, out, item));
  }
  if (list.is_tuple() && list.items.size() == 1) out += ',';
  out += list.is_tuple() ? ')' : ']';
  return Ok{};
}

Status append_entries(Runtime& runtime, std::string& out, const Dict& dict) {
  out += '{';
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!first) out += ", ";
    first = false;
    KVERN_TRY_STATUS(append_repr(runtime, out, key));
    out += ": ";
    KVERN_TRY_STATUS(append_repr(runtime, out, value));
  }
  out += '}';
  return Ok{};
}

}  // namespace

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  std::string out;
  if (text.starts_with('-')) {
    out += '-';
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  const std::string_view exponent_text = text.substr(e + 1);
  int exponent = 0;
  std::from_chars(exponent_text.data() + (exponent_text[0] == '+' ? 1 : 0),
                  exponent_text.data() + exponent_text.size(), exponent);
  if (exponent < kMinFixedExponent || exponent >= kMaxFixedExponent) return out + std::string(text);
  std::string digits(1, text[0]);
  if (e > 2) digits += text.substr(2, e - 2);
  if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto point = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= point) return out + digits + std::string(point - digits.size(), '0') + ".0";
  return out + digits.substr(0, point) + "." + digits.substr(point);
}

void append_quoted(std::string& out, std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out += quote;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_at(text, at);
    const std::string_view piece = text.substr(at, point.bytes);
    if (point.value == quote || point.value == '\\') {
      out += '\\';
      out += piece;
    } else if (is_printable(point.value)) {
      out += piece;
    } else {
      append_escape(out, piece, point.value);
    }
    at += point.bytes;
  }
  out += quote;
}

Status append_repr(Runtime& runtime, std::string& out, const Value& value) {
  const DepthScope scope(runtime);
  KVERN_TRY_STATUS(scope.ok());
  KVERN_TRY_STATUS(runtime.charge(1));
  if (out.size() > runtime.limits().max_memory_bytes) {
    return fail(ErrorCode::kExhausted, "a value is too long as text");
  }
  if (value.is_string()) {
    KVERN_TRY_STATUS(runtime.charge_bytes(value.text().size()));
    append_quoted(out, value.text());
  } else if (value.is_undefined()) {
    out += "Undefined";
  } else if (value.is_none()) {
    out += "None";
  } else if (value.is_bool()) {
    out += value.as_bool() ? "True" : "False";
  } else if (value.is_int()) {
    out += std::to_string(value.as_int());
  } else if (value.is_float()) {
    out += float_repr(value.as_double());
  } else if (value.is_list()) {
    return append_items(runtime, out, value.as_list());
  } else if (value.is_dict()) {
    return append_entries(runtime, out, value.as_dict());
  } else {
    out += "<" + value.type_name() + ">";
  }
  return Ok{};
}

Status append_str(Runtime& runtime, std::string& out, const Value& value) {
  if (value.is_undefined()) return Ok{};
  if (!value.is_string()) return append_repr(runtime, out, value);
  KVERN_TRY_STATUS(runtime.charge_bytes(value.text().size()));
  if (out.size() + value.text().size() > runtime.limits().max_memory_bytes) {
    return fail(ErrorCode::kExhausted, "a value is too long as text");
  }
  out += value.text();
  return Ok{};
}

Result<std::string> to_str(Runtime& runtime, const Value& value) {
  std::string out;
  KVERN_TRY_STATUS(append_str(runtime, out, value));
  return out;
}

}  // namespace kvern::jinja
