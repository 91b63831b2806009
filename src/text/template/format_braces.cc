// str.format ("Format String Syntax"). Nested fields inside a specification are not supported.
#include <charconv>

#include "text/template/attributes.h"
#include "text/template/format.h"
#include "text/template/format_number.h"
#include "text/template/printing.h"
#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, const CallArguments& arguments)
      : runtime_(runtime), arguments_(arguments) {}
  Result<Value> run(std::string_view pattern);

 private:
  Status field(std::string_view text);
  Result<Value> lookup(std::string_view path);
  Result<Value> first_part(std::string_view name);
  Result<std::string> format_value(const Value& value, std::string_view spec_text);

  Runtime& runtime_;
  const CallArguments& arguments_;
  std::string out_;
  size_t next_ = 0;
};

Result<FormatSpec> parse_spec(std::string_view text) {
  FormatSpec spec;
  size_t at = 0;
  const auto is_align = [](char c) { return std::string_view("<>^=").contains(c); };
  const size_t first = text.empty() ? 0 : decode_at(text, 0).bytes;
  if (first < text.size() && is_align(text[first])) {
    spec.fill = std::string(text.substr(0, first));
    spec.align = text[first];
    at = first + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[at++];
  }
  const auto take = [&](char wanted) { return at < text.size() && text[at] == wanted && ++at != 0; };
  if (at < text.size() && std::string_view("+- ").contains(text[at])) spec.sign = text[at++];
  spec.alternate = take('#');
  if (take('0') && spec.align == '\0') {
    spec.fill = "0";
    spec.align = '=';
  }
  KVERN_TRY(spec.width, read_number(text, at, kMaxFormatWidth));
  spec.thousands = take(',');
  if (take('.')) {
    KVERN_TRY(spec.precision, read_number(text, at, kMaxFormatPrecision));
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size() || (spec.type != '\0' && !std::string_view("sdxXobfFeEgG%").contains(spec.type))) {
    return template_error("invalid format specification '" + std::string(text) + "'");
  }
  return spec;
}

Result<Value> BraceFormatter::first_part(std::string_view name) {
  size_t index = 0;
  if (name.empty()) {
    index = next_++;
  } else {
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
    if (parsed.ec != std::errc{} || parsed.ptr != name.data() + name.size()) {
      for (const auto& [key, value] : arguments_.named) {
        if (key == name) return value;
      }
      return template_error("the format names a missing argument '" + std::string(name) + "'");
    }
  }
  if (index >= arguments_.positional.size()) {
    return template_error("Replacement index " + std::to_string(index) +
                          " out of range for positional args tuple");
  }
  return arguments_.positional[index];
}

Result<Value> BraceFormatter::lookup(std::string_view path) {
  size_t end = std::min(path.find_first_of(".["), path.size());
  KVERN_TRY(Value value, first_part(path.substr(0, end)));
  while (end < path.size()) {
    const bool dot = path[end] == '.';
    const size_t start = end + 1;
    end = dot ? std::min(path.find_first_of(".[", start), path.size()) : path.find(']', start);
    if (end == std::string_view::npos) return template_error("expected ']' in a format");
    const std::string_view part = path.substr(start, end - start);
    if (dot) {
      KVERN_TRY(value, get_attribute(runtime_, value, part));
    } else {
      ++end;
      int64_t index = 0;
      const auto parsed = std::from_chars(part.data(), part.data() + part.size(), index);
      const bool number =
          parsed.ec == std::errc{} && parsed.ptr == part.data() + part.size() && !part.empty();
      KVERN_TRY(value, get_item(runtime_, value,
                                number ? Value::integer(index) : Value::literal(std::string(part))));
    }
  }
  return value;
}

Result<std::string> BraceFormatter::format_value(const Value& value, std::string_view spec_text) {
  if (spec_text.empty()) return to_str(runtime_, value);
  KVERN_TRY(const FormatSpec spec, parse_spec(spec_text));
  const bool as_number = value.is_number() && !(value.is_bool() && spec.type == '\0');
  if (as_number && spec.type != 's') {
    KVERN_TRY(std::string text, format_number(value, spec));
    return pad(std::move(text), spec, '>');
  }
  if (spec.type != '\0' && spec.type != 's') {
    return template_error(std::string("Unknown format code '") + spec.type + "' for object of type '" +
                          value.type_name() + "'");
  }
  KVERN_TRY(std::string text, to_str(runtime_, value));
  if (spec.precision) text.resize(byte_offset(text, static_cast<size_t>(*spec.precision)));
  return pad(std::move(text), spec, '<');
}

Status BraceFormatter::field(std::string_view text) {
  const size_t colon = text.find(':');
  std::string_view path = text.substr(0, colon);
  const std::string_view spec = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  char conversion = '\0';
  if (path.size() >= 2 && path[path.size() - 2] == '!') {
    conversion = path.back();
    path.remove_suffix(2);
  }
  KVERN_TRY(Value value, lookup(path));
  if (conversion == 'r' || conversion == 'a') {
    std::string quoted;
    KVERN_TRY_STATUS(append_repr(runtime_, quoted, value));
    KVERN_TRY(value, runtime_.string(std::move(quoted)));
  } else if (conversion == 's') {
    KVERN_TRY(std::string plain, to_str(runtime_, value));
    KVERN_TRY(value, runtime_.string(std::move(plain)));
  } else if (conversion != '\0') {
    return template_error(std::string("Unknown conversion specifier '") + conversion + "'");
  }
  KVERN_TRY(const std::string formatted, format_value(value, spec));
  KVERN_TRY_STATUS(runtime_.charge(1 + formatted.size() / 64));
  out_ += formatted;
  return Ok{};
}

Result<Value> BraceFormatter::run(std::string_view pattern) {
  KVERN_TRY_STATUS(runtime_.charge_bytes(pattern.size()));
  for (size_t at = 0; at < pattern.size();) {
    const char c = pattern[at];
    if (c != '{' && c != '}') {
      out_ += c;
      ++at;
      continue;
    }
    if (at + 1 < pattern.size() && pattern[at + 1] == c) {
      out_ += c;
      at += 2;
      continue;
    }
    const size_t close = c == '{' ? pattern.find('}', at) : std::string_view::npos;
    if (close == std::string_view::npos)
      return template_error(std::string("Single '") + c + "' encountered in format string");
    KVERN_TRY_STATUS(field(pattern.substr(at + 1, close - at - 1)));
    if (out_.size() > runtime_.limits().max_memory_bytes)
      return fail(ErrorCode::kExhausted, "a formatted text is too long");
    at = close + 1;
  }
  return runtime_.string(std::move(out_));
}

}  // namespace

Result<Value> format_braces(Runtime& runtime, std::string_view pattern, const CallArguments& arguments) {
  return BraceFormatter(runtime, arguments).run(pattern);
}

}  // namespace kvern::jinja
