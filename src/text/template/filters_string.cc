// Filters that make text.
#include <algorithm>
#include <string>

#include "text/template/builtin.h"
#include "text/template/format.h"
#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/template/runtime.h"
#include "text/template/text_ops.h"
#include "text/template/to_json.h"
#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

/// A width in code points; text of that size must fit a render.
Result<size_t> width_argument(Runtime& runtime, const BoundArguments& arguments, size_t index,
                              int64_t fallback) {
  KVERN_TRY(const int64_t width, arguments.integer(index, fallback));
  if (width > static_cast<int64_t>(runtime.limits().max_output_bytes)) {
    return fail(ErrorCode::kExhausted, "a width is larger than the output may be");
  }
  return static_cast<size_t>(std::max<int64_t>(width, 0));
}

template <std::string (*transform)(std::string_view)>
Result<Value> mapped(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const std::string text, to_str(runtime, arguments.self()));
  return runtime.string(transform(text));
}

Result<Value> filter_string(Runtime& runtime, BoundArguments& arguments) {
  if (arguments.self().is_string()) return arguments.self();
  KVERN_TRY(std::string text, to_str(runtime, arguments.self()));
  return runtime.string(std::move(text));
}

template <Side side>
Result<Value> filter_strip(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const std::string text, to_str(runtime, arguments.self()));
  const Value* characters = arguments.find(1);
  if (characters == nullptr || characters->is_none()) return runtime.string(std::string(strip(text, side)));
  KVERN_TRY(const std::string set, arguments.string(1, ""));
  KVERN_TRY_STATUS(runtime.charge(1 + text.size() * (set.size() / 64)));
  return runtime.string(std::string(strip(text, side, set)));
}

/// Words begin at the start and behind white space and -([{<.
std::string filter_title_case(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_at(text, at);
    const std::string_view piece = text.substr(at, point.bytes);
    out += at_start ? to_upper(piece) : to_lower(piece);
    at_start = is_space(point.value) || (piece.size() == 1 && std::string_view("-([{<").contains(piece[0]));
    at += point.bytes;
  }
  return out;
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string url_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~/";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (word || kPlain.contains(c)) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

Result<Value> filter_replace(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const std::string text, to_str(runtime, arguments.self()));
  KVERN_TRY(const std::string from, to_str(runtime, arguments[1]));
  KVERN_TRY(const std::string to, to_str(runtime, arguments[2]));
  KVERN_TRY(const int64_t count, arguments.integer(3, -1));
  return replace_text(runtime, text, {.from = from, .to = to, .count = count});
}

Result<Value> filter_indent(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const std::string text, to_str(runtime, arguments.self()));
  std::string margin;
  if (const Value* width = arguments.find(1); width != nullptr && width->is_string()) {
    margin = width->text();
  } else {
    KVERN_TRY(const size_t spaces, width_argument(runtime, arguments, 1, 4));
    margin.assign(spaces, ' ');
  }
  const bool first = arguments.flag(2, false);
  const bool blank = arguments.flag(3, false);
  std::string out;
  bool first_line = true;
  const std::string closed = text + "\n";  // so that an empty last line survives, as in Jinja
  for (const std::string_view line : split_lines(closed, KeepEnds::kNo)) {
    KVERN_TRY_STATUS(runtime.charge(1 + margin.size() / 64));
    if (out.size() > runtime.limits().max_memory_bytes)
      return fail(ErrorCode::kExhausted, "an indented text is too long");
    if (!first_line) out += '\n';
    if (first_line ? first : (blank || !line.empty())) out += margin;
    out += line;
    first_line = false;
  }
  return runtime.string(std::move(out));
}

Result<Value> filter_wordcount(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const std::string text, to_str(runtime, arguments.self()));
  int64_t words = 0;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_at(text, at);
    const bool word = is_word(point.value);
    words += word && !inside;
    inside = word;
    at += point.bytes;
  }
  return Value::integer(words);
}

Result<Value> filter_center(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const std::string text, to_str(runtime, arguments.self()));
  KVERN_TRY(const size_t width, width_argument(runtime, arguments, 1, 80));
  const size_t length = count_code_points(text);
  if (length >= width) return runtime.string(text);
  const size_t margin = width - length;
  const size_t left = margin / 2 + (margin & width & 1);  // Python's rule for odd margins
  return runtime.string(std::string(left, ' ') + text + std::string(margin - left, ' '));
}

Result<Value> filter_truncate(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const std::string text, to_str(runtime, arguments.self()));
  KVERN_TRY(const size_t length, width_argument(runtime, arguments, 1, 255));
  const bool kill_words = arguments.flag(2, false);
  KVERN_TRY(const std::string end, arguments.string(3, "..."));
  KVERN_TRY(const size_t leeway, width_argument(runtime, arguments, 4, 5));
  const size_t end_length = count_code_points(end);
  if (length < end_length) return template_error("truncate: the length is less than that of the end");
  if (count_code_points(text) <= length + leeway) return runtime.string(text);
  std::string kept = text.substr(0, byte_offset(text, length - end_length));
  if (!kill_words) {
    if (const size_t space = kept.rfind(' '); space != std::string::npos) kept.resize(space);
  }
  return runtime.string(kept + end);
}

Result<Value> filter_format(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const std::string pattern, to_str(runtime, arguments.self()));
  if (!arguments.rest.named.empty()) {
    if (!arguments.rest.positional.empty()) {
      return template_error("can't handle positional and keyword arguments at the same time");
    }
    KVERN_TRY(Dict * dict, runtime.heap().dict());
    for (auto& [name, value] : arguments.rest.named) {
      KVERN_TRY(Value key, runtime.string(name));
      KVERN_TRY_STATUS(runtime.heap().set(*dict, std::move(key), value));
    }
    return format_percent(runtime, pattern, Value::dict(dict));
  }
  KVERN_TRY(const Value tuple, runtime.list(std::move(arguments.rest.positional), List::Kind::kTuple));
  return format_percent(runtime, pattern, tuple);
}

Result<Value> filter_tojson(Runtime& runtime, BoundArguments& arguments) {
  JsonFormat format;
  format.ensure_ascii = arguments.flag(1, false);
  if (const Value* indent = arguments.find(2); indent != nullptr && !indent->is_none()) {
    if (indent->is_string()) {
      format.indent = indent->text();
    } else {
      KVERN_TRY(const size_t spaces, width_argument(runtime, arguments, 2, 0));
      format.indent = std::string(spaces, ' ');
    }
    format.item_separator = ",";
  }
  if (const Value* separators = arguments.find(3); separators != nullptr && !separators->is_none()) {
    if (!separators->is_list() || separators->as_list().items.size() != 2 ||
        !separators->as_list().items[0].is_string() || !separators->as_list().items[1].is_string()) {
      return template_error("tojson: separators must be two strings");
    }
    format.item_separator = separators->as_list().items[0].text();
    format.key_separator = separators->as_list().items[1].text();
  }
  format.sort_keys = arguments.flag(4, false);
  KVERN_TRY(std::string text, to_json_text(runtime, arguments.self(), format));
  return runtime.string(std::move(text));
}

constexpr Builtin kTable[] = {
    {"string", "value", 1, filter_string},
    {"safe", "value", 1, filter_string},
    {"upper", "value", 1, mapped<to_upper>},
    {"lower", "value", 1, mapped<to_lower>},
    {"capitalize", "value", 1, mapped<capitalize>},
    {"title", "value", 1, mapped<filter_title_case>},
    {"trim", "value,chars", 1, filter_strip<Side::kBoth>},
    {"strip", "value,chars", 1, filter_strip<Side::kBoth>},
    {"lstrip", "value,chars", 1, filter_strip<Side::kLeft>},
    {"rstrip", "value,chars", 1, filter_strip<Side::kRight>},
    {"escape", "value", 1, mapped<escape_html>},
    {"e", "value", 1, mapped<escape_html>},
    {"forceescape", "value", 1, mapped<escape_html>},
    {"urlencode", "value", 1, mapped<url_encode>},
    {"replace", "value,old,new,count", 3, filter_replace},
    {"indent", "value,width,first,blank", 1, filter_indent},
    {"wordcount", "value", 1, filter_wordcount},
    {"center", "value,width", 1, filter_center},
    {"truncate", "value,length,killwords,end,leeway", 1, filter_truncate},
    {"format", "value,*", 1, filter_format},
    {"tojson", "value,ensure_ascii,indent,separators,sort_keys", 1, filter_tojson},
};

}  // namespace

std::span<const Builtin> string_filters() { return kTable; }

}  // namespace kvern::jinja
