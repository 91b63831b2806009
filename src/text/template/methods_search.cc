// Methods of str that look: starts, ends, positions, classes of characters.
#include <algorithm>
#include <optional>

#include "text/template/attributes.h"
#include "text/template/builtin.h"
#include "text/template/operators.h"
#include "text/template/runtime.h"
#include "text/template/text_ops.h"
#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

/// The part of the receiver between optional bounds in code points, and where it starts. Empty if start >
/// length.
struct Window {
  std::string_view text;
  size_t start = 0;
};

Result<std::optional<Window>> window(Runtime& runtime, const BoundArguments& arguments) {
  const StringData& data = arguments.self().string_data();
  KVERN_TRY_STATUS(runtime.charge_bytes(data.text.size()));
  const auto size = static_cast<int64_t>(data.code_points);
  KVERN_TRY(int64_t start, arguments.integer(2, 0));
  KVERN_TRY(int64_t end, arguments.integer(3, size));
  if (start < 0) start = std::max<int64_t>(start + size, 0);
  if (end < 0) end = std::max<int64_t>(end + size, 0);
  end = std::min(end, size);
  if (start > size || start > end) return std::nullopt;
  const size_t from = byte_offset(data.text, static_cast<size_t>(start));
  const size_t to = byte_offset(data.text, static_cast<size_t>(end));
  return Window{std::string_view(data.text).substr(from, to - from), static_cast<size_t>(start)};
}

enum class End : uint8_t { kStart, kFinish };

template <End which>
Result<Value> method_affix(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const auto part, window(runtime, arguments));
  std::vector<Value> candidates = {arguments[1]};
  if (arguments[1].is_list() && arguments[1].as_list().is_tuple()) candidates = arguments[1].as_list().items;
  KVERN_TRY_STATUS(runtime.charge(candidates.size()));
  for (const Value& candidate : candidates) {
    if (!candidate.is_string()) {
      return template_error("startswith/endswith need a str or a tuple of str, not " + candidate.type_name());
    }
    if (!part) continue;
    const std::string& affix = candidate.text();
    KVERN_TRY_STATUS(runtime.charge_bytes(std::min(affix.size(), part->text.size())));
    if (which == End::kStart ? part->text.starts_with(affix) : part->text.ends_with(affix))
      return Value::boolean(true);
  }
  return Value::boolean(false);
}

enum class Missing : uint8_t { kMinusOne, kError };

template <End from, Missing missing>
Result<Value> method_find(Runtime& runtime, BoundArguments& arguments) {
  if (!arguments[1].is_string()) return template_error("must be str, not " + arguments[1].type_name());
  KVERN_TRY(const auto part, window(runtime, arguments));
  size_t found = std::string_view::npos;
  if (part)
    found = from == End::kStart ? find_text(part->text, arguments[1].text())
                                : rfind_text(part->text, arguments[1].text());
  if (found != std::string_view::npos) {
    return Value::integer(static_cast<int64_t>(part->start + count_code_points(part->text.substr(0, found))));
  }
  if (missing == Missing::kError) return template_error("substring not found");
  return Value::integer(-1);
}

Result<Value> method_count(Runtime& runtime, BoundArguments& arguments) {
  if (!arguments[1].is_string()) return template_error("must be str, not " + arguments[1].type_name());
  KVERN_TRY(const auto part, window(runtime, arguments));
  const std::string& needle = arguments[1].text();
  if (!part) return Value::integer(0);
  if (needle.empty()) return Value::integer(static_cast<int64_t>(count_code_points(part->text)) + 1);
  int64_t count = 0;
  for (size_t at = find_text(part->text, needle); at != std::string_view::npos;
       at = find_text(part->text, needle, at + needle.size())) {
    ++count;
  }
  return Value::integer(count);
}

/// True if the text is not empty and every code point satisfies the predicate.
template <bool (*predicate)(int32_t)>
Result<Value> all_points(Runtime& runtime, BoundArguments& arguments) {
  const std::string& text = arguments.self().text();
  KVERN_TRY_STATUS(runtime.charge_bytes(text.size()));
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_at(text, at);
    if (!predicate(point.value)) return Value::boolean(false);
    at += point.bytes;
  }
  return Value::boolean(!text.empty());
}

bool is_alphanumeric(int32_t code_point) { return code_point != '_' && is_word(code_point); }
bool is_ascii(int32_t code_point) { return code_point >= 0 && code_point < 0x80; }

template <const char* test>
Result<Value> by_test(Runtime& runtime, BoundArguments& arguments) {
  return invoke(runtime, *find_test(test), arguments.self(), {});
}
constexpr char kLower[] = "lower";
constexpr char kUpper[] = "upper";

Result<Value> method_is_ascii(Runtime& runtime, BoundArguments& arguments) {
  const std::string& text = arguments.self().text();
  KVERN_TRY_STATUS(runtime.charge_bytes(text.size()));
  return Value::boolean(
      std::ranges::all_of(text, [](char c) { return is_ascii(static_cast<unsigned char>(c)); }));
}

Result<Value> method_is_title(Runtime& runtime, BoundArguments& arguments) {
  const std::string& text = arguments.self().text();
  KVERN_TRY_STATUS(runtime.charge_bytes(text.size()));
  const bool cased = to_upper(text) != to_lower(text);
  return Value::boolean(cased && title_case(text) == text);
}

constexpr Builtin kTable[] = {
    {"startswith", "self,prefix,start,end", 2, method_affix<End::kStart>},
    {"endswith", "self,suffix,start,end", 2, method_affix<End::kFinish>},
    {"find", "self,sub,start,end", 2, method_find<End::kStart, Missing::kMinusOne>},
    {"rfind", "self,sub,start,end", 2, method_find<End::kFinish, Missing::kMinusOne>},
    {"index", "self,sub,start,end", 2, method_find<End::kStart, Missing::kError>},
    {"rindex", "self,sub,start,end", 2, method_find<End::kFinish, Missing::kError>},
    {"count", "self,sub,start,end", 2, method_count},
    {"isdigit", "self", 1, all_points<is_decimal_digit>},
    {"isdecimal", "self", 1, all_points<is_decimal_digit>},
    {"isnumeric", "self", 1, all_points<is_decimal_digit>},
    {"isalpha", "self", 1, all_points<is_letter>},
    {"isalnum", "self", 1, all_points<is_alphanumeric>},
    {"isspace", "self", 1, all_points<is_space>},
    {"isascii", "self", 1, method_is_ascii},
    {"islower", "self", 1, by_test<kLower>},
    {"isupper", "self", 1, by_test<kUpper>},
    {"istitle", "self", 1, method_is_title},
};

}  // namespace

std::span<const Builtin> string_search_methods() { return kTable; }

}  // namespace kvern::jinja
