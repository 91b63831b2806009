// Methods of str that make new text: case, strip, split, join, replace, format.
#include <algorithm>

#include "text/template/builtin.h"
#include "text/template/format.h"
#include "text/template/operators.h"
#include "text/template/runtime.h"
#include "text/template/text_ops.h"
#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

template <std::string (*transform)(std::string_view)>
Result<Value> mapped(Runtime& runtime, BoundArguments& arguments) {
  return runtime.string(transform(arguments.self().text()));
}

template <Side side>
Result<Value> method_strip(Runtime& runtime, BoundArguments& arguments) {
  const std::string& text = arguments.self().text();
  KVERN_TRY_STATUS(runtime.charge_bytes(text.size()));
  const Value* characters = arguments.find(1);
  if (characters == nullptr || characters->is_none()) return runtime.string(std::string(strip(text, side)));
  KVERN_TRY(const std::string set, arguments.string(1, ""));
  KVERN_TRY_STATUS(runtime.charge(1 + text.size() * (set.size() / 64)));
  return runtime.string(std::string(strip(text, side, set)));
}

Result<Value> pieces_to_list(Runtime& runtime, const std::vector<std::string_view>& pieces) {
  std::vector<Value> items;
  items.reserve(pieces.size());
  for (const std::string_view piece : pieces) {
    KVERN_TRY(Value item, runtime.string(std::string(piece)));
    items.push_back(std::move(item));
  }
  return runtime.list(std::move(items));
}

/// Runs of white space separate; none at the ends. After `most` cuts the rest is one piece, its end as it is.
std::vector<std::string_view> split_words(std::string_view text, uint64_t most) {
  std::vector<std::string_view> words;
  text = strip(text, Side::kLeft);
  while (!text.empty()) {
    if (words.size() == most) {
      words.push_back(text);
      break;
    }
    size_t end = 0;
    while (end < text.size() && !is_space(decode_at(text, end).value)) end += decode_at(text, end).bytes;
    words.push_back(text.substr(0, end));
    text = strip(text.substr(end), Side::kLeft);
  }
  return words;
}

/// As split_words, cutting from the right; the rest keeps its beginning.
std::vector<std::string_view> split_words_right(std::string_view text, uint64_t most) {
  std::vector<std::string_view> words = split_words(text, UINT64_MAX);
  if (words.size() <= most) return words;
  const size_t merged = words.size() - static_cast<size_t>(most);
  const std::string_view last = words[merged - 1];
  std::vector<std::string_view> out = {
      text.substr(0, static_cast<size_t>(last.data() + last.size() - text.data()))};
  out.insert(out.end(), words.begin() + static_cast<std::ptrdiff_t>(merged), words.end());
  return out;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, uint64_t most) {
  std::vector<std::string_view> pieces;
  size_t start = 0;
  while (pieces.size() < most) {
    const size_t found = find_text(text, separator, start);
    if (found == std::string_view::npos) break;
    pieces.push_back(text.substr(start, found - start));
    start = found + separator.size();
  }
  pieces.push_back(text.substr(start));
  return pieces;
}

/// As split_at, from the right: on the text read backwards.
std::vector<std::string_view> split_at_right(std::string_view text, std::string_view separator,
                                             uint64_t most) {
  const std::string backwards(text.rbegin(), text.rend());
  const std::string reversed_separator(separator.rbegin(), separator.rend());
  std::vector<std::string_view> pieces;
  for (const std::string_view piece : split_at(backwards, reversed_separator, most)) {
    const auto end = static_cast<size_t>(piece.data() - backwards.data());  // counted from the text's end
    pieces.push_back(text.substr(text.size() - end - piece.size(), piece.size()));
  }
  std::ranges::reverse(pieces);
  return pieces;
}

template <Side from>
Result<Value> method_split(Runtime& runtime, BoundArguments& arguments) {
  const std::string& text = arguments.self().text();
  KVERN_TRY_STATUS(runtime.charge_bytes(text.size()));
  KVERN_TRY(const int64_t limit, arguments.integer(2, -1));
  const uint64_t most = limit < 0 ? UINT64_MAX : static_cast<uint64_t>(limit);
  const Value* given = arguments.find(1);
  const bool left = from == Side::kLeft;
  if (given == nullptr || given->is_none()) {
    return pieces_to_list(runtime, left ? split_words(text, most) : split_words_right(text, most));
  }
  KVERN_TRY(const std::string separator, arguments.string(1, ""));
  if (separator.empty()) return template_error("empty separator");
  return pieces_to_list(runtime,
                        left ? split_at(text, separator, most) : split_at_right(text, separator, most));
}

template <Side from>
Result<Value> method_partition(Runtime& runtime, BoundArguments& arguments) {
  const std::string_view text = arguments.self().text();
  KVERN_TRY(const std::string separator, arguments.string(1, ""));
  KVERN_TRY_STATUS(runtime.charge_bytes(text.size() + separator.size()));
  if (separator.empty()) return template_error("empty separator");
  const size_t found = from == Side::kLeft ? find_text(text, separator) : rfind_text(text, separator);
  std::vector<std::string_view> parts;
  if (found != std::string_view::npos) {
    parts = {text.substr(0, found), separator, text.substr(found + separator.size())};
  } else if (from == Side::kLeft) {
    parts = {text, "", ""};
  } else {
    parts = {"", "", text};
  }
  KVERN_TRY(const Value list, pieces_to_list(runtime, parts));
  list.as_list().kind = List::Kind::kTuple;
  return list;
}

Result<Value> method_splitlines(Runtime& runtime, BoundArguments& arguments) {
  const std::string& text = arguments.self().text();
  KVERN_TRY_STATUS(runtime.charge_bytes(text.size()));
  return pieces_to_list(runtime,
                        split_lines(text, arguments.flag(1, false) ? KeepEnds::kYes : KeepEnds::kNo));
}

Result<Value> method_join(Runtime& runtime, BoundArguments& arguments) {
  const std::string& separator = arguments.self().text();
  KVERN_TRY(const List* list, iterate(runtime, arguments[1]));
  std::string out;
  for (size_t i = 0; i < list->items.size(); ++i) {
    const Value& item = list->items[i];
    if (!item.is_string()) {
      return template_error("sequence item " + std::to_string(i) + ": expected str instance, " +
                            item.type_name() + " found");
    }
    if (i > 0) out += separator;
    out += item.text();
    KVERN_TRY_STATUS(runtime.charge(1 + (separator.size() + item.text().size()) / 64));
    if (out.size() > runtime.limits().max_memory_bytes)
      return fail(ErrorCode::kExhausted, "a joined text is too long");
  }
  return runtime.string(std::move(out));
}

Result<Value> method_replace(Runtime& runtime, BoundArguments& arguments) {
  if (!arguments[1].is_string() || !arguments[2].is_string()) {
    const Value& wrong = arguments[1].is_string() ? arguments[2] : arguments[1];
    return template_error("replace() argument must be str, not " + wrong.type_name());
  }
  KVERN_TRY(const int64_t count, arguments.integer(3, -1));
  return replace_text(runtime, arguments.self().text(),
                      {.from = arguments[1].text(), .to = arguments[2].text(), .count = count});
}

template <Side side>
Result<Value> method_remove(Runtime& runtime, BoundArguments& arguments) {
  std::string_view text = arguments.self().text();
  KVERN_TRY(const std::string part, arguments.string(1, ""));
  if (side == Side::kLeft && text.starts_with(part)) text.remove_prefix(part.size());
  if (side == Side::kRight && text.ends_with(part)) text.remove_suffix(part.size());
  return runtime.string(std::string(text));
}

enum class Align : uint8_t { kLeft, kRight, kZeros };

template <Align align>
Result<Value> method_justify(Runtime& runtime, BoundArguments& arguments) {
  const StringData& data = arguments.self().string_data();
  KVERN_TRY(const int64_t width, arguments.integer(1, 0));
  if (width > static_cast<int64_t>(runtime.limits().max_output_bytes)) {
    return fail(ErrorCode::kExhausted, "a width is larger than the output may be");
  }
  std::string fill = "0";
  if (align != Align::kZeros) {
    KVERN_TRY(fill, arguments.string(2, " "));
  }
  if (count_code_points(fill) != 1)
    return template_error("The fill character must be exactly one character long");
  std::string padding;
  for (auto i = static_cast<int64_t>(data.code_points); i < width; ++i) padding += fill;
  if (align == Align::kLeft) return runtime.string(data.text + padding);
  const bool has_sign =
      align == Align::kZeros && !data.text.empty() && (data.text[0] == '-' || data.text[0] == '+');
  const size_t sign = has_sign ? 1 : 0;
  return runtime.string(data.text.substr(0, sign) + padding + data.text.substr(sign));
}

std::string swap_case(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_at(text, at);
    const std::string_view piece = text.substr(at, point.bytes);
    out += is_upper(point.value) ? to_lower(piece) : to_upper(piece);
    at += point.bytes;
  }
  return out;
}

Result<Value> method_format(Runtime& runtime, BoundArguments& arguments) {
  return format_braces(runtime, arguments.self().text(), arguments.rest);
}

constexpr Builtin kTable[] = {
    {"strip", "self,chars", 1, method_strip<Side::kBoth>},
    {"lstrip", "self,chars", 1, method_strip<Side::kLeft>},
    {"rstrip", "self,chars", 1, method_strip<Side::kRight>},
    {"split", "self,sep,maxsplit", 1, method_split<Side::kLeft>},
    {"rsplit", "self,sep,maxsplit", 1, method_split<Side::kRight>},
    {"partition", "self,sep", 2, method_partition<Side::kLeft>},
    {"rpartition", "self,sep", 2, method_partition<Side::kRight>},
    {"splitlines", "self,keepends", 1, method_splitlines},
    {"join", "self,iterable", 2, method_join},
    {"replace", "self,old,new,count", 3, method_replace},
    {"removeprefix", "self,prefix", 2, method_remove<Side::kLeft>},
    {"removesuffix", "self,suffix", 2, method_remove<Side::kRight>},
    {"upper", "self", 1, mapped<to_upper>},
    {"lower", "self", 1, mapped<to_lower>},
    {"casefold", "self", 1, mapped<to_lower>},
    {"title", "self", 1, mapped<title_case>},
    {"capitalize", "self", 1, mapped<capitalize>},
    {"swapcase", "self", 1, mapped<swap_case>},
    {"ljust", "self,width,fillchar", 2, method_justify<Align::kLeft>},
    {"rjust", "self,width,fillchar", 2, method_justify<Align::kRight>},
    {"zfill", "self,width", 2, method_justify<Align::kZeros>},
    {"format", "self,*", 1, method_format},
};

}  // namespace

std::span<const Builtin> string_methods() { return kTable; }

}  // namespace kvern::jinja
