// Boost.JSON's own number conversion may be off by some units in the last place (it says so for releases
// before 1.83), so its event parser is used here with a handler that converts decimal fractions itself.
#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>

#include "base/utf8.h"

namespace kvern {
namespace {

/// Builds a value from the events of basic_parser; their names and parameters are its contract.
class ValueBuilder {
 public:
  static constexpr size_t max_object_size = json::object::max_size();
  static constexpr size_t max_array_size = json::array::max_size();
  static constexpr size_t max_key_size = json::string::max_size();
  static constexpr size_t max_string_size = json::string::max_size();
  using Text = json::string_view;
  using Code = json::error_code;

  json::value release() { return stack_.release(); }

  bool on_document_begin(Code&) {
    stack_.reset();
    return true;
  }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_object_end(size_t count, Code&) {
    stack_.push_object(count);
    return true;
  }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(size_t count, Code&) {
    stack_.push_array(count);
    return true;
  }
  bool on_key_part(Text text, size_t, Code&) { return keep_part(text); }
  bool on_key(Text text, size_t, Code&) {
    stack_.push_key(text);
    return true;
  }
  bool on_string_part(Text text, size_t, Code&) { return keep_part(text); }
  bool on_string(Text text, size_t, Code&) {
    stack_.push_string(text);
    return true;
  }
  bool on_number_part(Text text, Code&) {
    number_ += std::string_view(text.data(), text.size());
    return true;
  }
  bool on_int64(int64_t number, Text, Code&) {
    number_.clear();
    stack_.push_int64(number);
    return true;
  }
  bool on_uint64(uint64_t number, Text, Code&) {
    number_.clear();
    stack_.push_uint64(number);
    return true;
  }
  bool on_double(double approximate, Text text, Code&) {
    number_ += std::string_view(text.data(), text.size());
    double exact = 0;
    const auto [end, error] = std::from_chars(number_.data(), number_.data() + number_.size(), exact);
    // Out of range: the parser's infinity or zero.
    stack_.push_double(error == std::errc() ? exact : approximate);
    number_.clear();
    return true;
  }
  bool on_bool(bool value, Code&) {
    stack_.push_bool(value);
    return true;
  }
  bool on_null(Code&) {
    stack_.push_null();
    return true;
  }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }

 private:
  bool keep_part(Text text) {
    stack_.push_chars(text);
    return true;
  }

  json::value_stack stack_;
  std::string number_;  // The digits so far of a number that comes in parts.
};

/// Where a byte stands for a person: "byte 12 (line 2, column 3)", counted from 1 except the byte.
std::string place_of(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::ranges::count(before, '\n');
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? offset + 1 : offset - newline;
  return fmt::format("byte {} (line {}, column {})", offset, line, column);
}

std::unexpected<Error> not_json(std::string_view text, size_t offset, std::string_view reason,
                                const std::string& where) {
  return fail(ErrorCode::kCorrupt, fmt::format("not valid JSON at {}: {}", place_of(text, offset), reason),
              where);
}

/// The shortest text that reads back as the same double and as a double: "2.0", "0.1", "1e-05".
void append_number(std::string& out, double number) {
  if (!std::isfinite(number)) {  // JSON has neither NaN nor infinities.
    out += "null";
    return;
  }
  char text[32];
  const std::to_chars_result written = std::to_chars(text, text + sizeof text, number);
  const std::string_view digits(text, static_cast<size_t>(written.ptr - text));
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void append_value(std::string& out, const json::value& value) {
  if (const double* number = value.if_double()) {
    append_number(out, *number);
  } else if (const json::array* array = value.if_array()) {
    out += '[';
    for (const json::value& item : *array) {
      if (&item != array->begin()) out += ',';
      append_value(out, item);
    }
    out += ']';
  } else if (const json::object* object = value.if_object()) {
    out += '{';
    for (const auto& item : *object) {
      if (&item != object->begin()) out += ',';
      out += json::serialize(item.key());
      out += ':';
      append_value(out, item.value());
    }
    out += '}';
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

Result<json::value> parse_json(std::string_view text, const std::string& where, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes)
    return fail(ErrorCode::kExhausted,
                fmt::format("{} bytes of JSON; at most {} are read", text.size(), limits.max_bytes), where);
  json::parse_options options;
  options.max_depth = limits.max_depth;
  json::basic_parser<ValueBuilder> parser(options);
  json::error_code error;
  const size_t used = parser.write_some(false, text.data(), text.size(), error);
  if (error == json::error::too_deep)
    return not_json(text, used, fmt::format("nested deeper than {} levels", limits.max_depth), where);
  if (error == json::error::incomplete)
    return not_json(text, text.size(), "the text ends before the value does", where);
  if (error) return not_json(text, used, error.message(), where);
  if (used < text.size()) return not_json(text, used, "more text after the end of the value", where);
  return parser.handler().release();
}

std::string to_json(const json::value& value) {
  std::string text;
  append_value(text, value);
  // Outside strings there is only ASCII, so a repair of the text is a repair of its strings.
  return is_valid_utf8(text) ? text : replace_invalid_utf8(text);
}

}  // namespace kvern
