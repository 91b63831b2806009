#include "model/safetensors/safetensors_header.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>

#include "base/json.h"
#include "model/printable.h"

namespace kvern::model {
namespace {

using compute::DType;

struct ElementType {
  std::string_view name;
  std::optional<DType> type;
  uint64_t bytes = 0;  ///< 0: known to the format, not computed with here
};

constexpr ElementType kElementTypes[] = {
    {"F32", DType::kF32, 4},  {"F16", DType::kF16, 2}, {"BF16", DType::kBF16, 2},
    {"U32", std::nullopt, 4}, {"F64", {}, 0},          {"I64", {}, 0},
    {"I32", {}, 0},           {"I16", {}, 0},          {"I8", {}, 0},
    {"U64", {}, 0},           {"U16", {}, 0},          {"U8", {}, 0},
    {"BOOL", {}, 0},          {"F8_E4M3", {}, 0},      {"F8_E5M2", {}, 0},
    {"F8_E8M0", {}, 0},       {"C64", {}, 0},          {"F4", {}, 0},
    {"F6_E2M3", {}, 0},       {"F6_E3M2", {}, 0},
};

// Finds a name that the header's object holds twice: Boost.JSON's value parser keeps the last one silently.
struct DuplicateFinder {
  static constexpr size_t max_object_size = size_t(-1);
  static constexpr size_t max_array_size = size_t(-1);
  static constexpr size_t max_key_size = size_t(-1);
  static constexpr size_t max_string_size = size_t(-1);

  using Text = boost::json::string_view;
  using Code = boost::json::error_code;

  std::unordered_set<std::string> names;
  std::string part;
  std::optional<std::string> duplicate;
  int depth = 0;

  bool on_object_begin(Code&) { return ++depth > 0; }
  bool on_object_end(size_t, Code&) { return --depth >= 0; }
  bool on_key_part(Text text, size_t, Code&) {
    if (depth == 1) part.append(text.data(), text.size());
    return true;
  }
  bool on_key(Text text, size_t, Code&) {
    if (depth != 1) return true;
    part.append(text.data(), text.size());
    if (!names.insert(part).second) duplicate = part;
    part.clear();
    return true;
  }
  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(size_t, Code&) { return true; }
  bool on_string_part(Text, size_t, Code&) { return true; }
  bool on_string(Text, size_t, Code&) { return true; }
  bool on_number_part(Text, Code&) { return true; }
  bool on_int64(int64_t, Text, Code&) { return true; }
  bool on_uint64(uint64_t, Text, Code&) { return true; }
  bool on_double(double, Text, Code&) { return true; }
  bool on_bool(bool, Code&) { return true; }
  bool on_null(Code&) { return true; }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }
};

Status check_distinct_names(std::string_view text, const std::string& file) {
  boost::json::basic_parser<DuplicateFinder> parser{boost::json::parse_options{}};
  boost::json::error_code code;
  parser.write_some(false, text.data(), text.size(), code);
  if (parser.handler().duplicate)
    return fail(ErrorCode::kCorrupt,
                fmt::format("two tensors have the name {}", printable(*parser.handler().duplicate)), file);
  return Ok{};
}

Result<uint64_t> read_count(const json::value& value, std::string_view what, const std::string& file) {
  if (value.is_int64() && value.get_int64() >= 0) return static_cast<uint64_t>(value.get_int64());
  return fail(ErrorCode::kCorrupt,
              fmt::format("{} holds something that is no number from 0 to 2^63 - 1", what), file);
}

Result<ElementType> read_type(const json::object& entry, const std::string& what, const std::string& file) {
  const json::value* dtype = entry.if_contains("dtype");
  if (dtype == nullptr || !dtype->is_string())
    return fail(ErrorCode::kCorrupt, fmt::format("{} has no dtype", what), file);
  const std::string_view name(dtype->get_string().data(), dtype->get_string().size());
  for (const ElementType& type : kElementTypes) {
    if (type.name != name) continue;
    if (type.bytes != 0) return type;
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("{} has the type {}; kvern computes with F32, F16, BF16 and MLX's U32 codes", what, name),
        file);
  }
  return fail(ErrorCode::kCorrupt, fmt::format("{} has the unknown type {}", what, printable(name)), file);
}

Result<std::vector<int64_t>> read_shape(const json::object& entry, const std::string& what,
                                        const std::string& file) {
  const json::value* shape = entry.if_contains("shape");
  if (shape == nullptr || !shape->is_array() || shape->get_array().size() > kSafetensorsMaxDims)
    return fail(ErrorCode::kCorrupt,
                fmt::format("{} has no shape of at most {} dimensions", what, kSafetensorsMaxDims), file);
  std::vector<int64_t> out;
  for (const json::value& dimension : shape->get_array()) {
    KVERN_TRY(const uint64_t n, read_count(dimension, "the shape of " + what, file));
    out.push_back(static_cast<int64_t>(n));
  }
  return out;
}

struct Span {
  uint64_t begin = 0;
  uint64_t end = 0;
};

Result<Span> read_span(const json::object& entry, const std::string& what, const std::string& file) {
  const json::value* offsets = entry.if_contains("data_offsets");
  if (offsets == nullptr || !offsets->is_array() || offsets->get_array().size() != 2)
    return fail(ErrorCode::kCorrupt, fmt::format("{} has no pair of data_offsets", what), file);
  Span span;
  KVERN_TRY(span.begin, read_count(offsets->get_array()[0], "data_offsets of " + what, file));
  KVERN_TRY(span.end, read_count(offsets->get_array()[1], "data_offsets of " + what, file));
  if (span.begin > span.end)
    return fail(ErrorCode::kCorrupt,
                fmt::format("{} ends (at {}) before it begins (at {})", what, span.end, span.begin), file);
  return span;
}

struct Entry {
  StoredTensor tensor;
  Span span;
};

Result<Entry> read_entry(std::string_view name, const json::value& value, const std::string& file) {
  const std::string what = "tensor " + printable(name);
  if (!value.is_object())
    return fail(ErrorCode::kCorrupt, fmt::format("the entry of {} is no object", what), file);
  const json::object& object = value.get_object();
  KVERN_TRY(const ElementType type, read_type(object, what, file));
  Entry entry{
      .tensor = {.name = std::string(name), .type = type.type, .shape = {}, .bytes = {}, .file = file},
      .span = {}};
  KVERN_TRY(entry.tensor.shape, read_shape(object, what, file));
  KVERN_TRY(entry.span, read_span(object, what, file));
  uint64_t bytes = type.bytes;
  for (const int64_t dimension : entry.tensor.shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dimension), &bytes))
      return fail(ErrorCode::kCorrupt,
                  fmt::format("the size of {} with shape {} overflows", what, shape_text(entry.tensor.shape)),
                  file);
  if (bytes != entry.span.end - entry.span.begin)
    return fail(
        ErrorCode::kCorrupt,
        fmt::format("{} of shape {} and type {} needs {} bytes, but its span has {}", what,
                    shape_text(entry.tensor.shape), type.name, bytes, entry.span.end - entry.span.begin),
        file);
  return entry;
}

Result<std::vector<Entry>> read_entries(std::string_view text, const std::string& file) {
  KVERN_TRY(const json::value header,
            parse_json(text, file, {.max_bytes = kSafetensorsMaxHeaderBytes, .max_depth = 8}));
  if (!header.is_object()) return fail(ErrorCode::kCorrupt, "the header is no JSON object", file);
  KVERN_TRY_STATUS(check_distinct_names(text, file));
  std::vector<Entry> entries;
  entries.reserve(header.get_object().size());
  for (const auto& member : header.get_object()) {
    const std::string_view name(member.key().data(), member.key().size());
    if (name == "__metadata__") continue;
    KVERN_TRY(entries.emplace_back(), read_entry(name, member.value(), file));
  }
  return entries;
}

// Sorts by span and makes sure that the spans tile [0, end); returns end.
Result<uint64_t> check_cover(std::vector<Entry>& entries, const std::string& file) {
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::pair(e.span.begin, e.span.end); });
  uint64_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.span.begin != end)
      return fail(ErrorCode::kCorrupt,
                  fmt::format("tensor {} begins at {} of the data, but the one before it ends at {}: {}",
                              printable(entry.tensor.name), entry.span.begin, end,
                              entry.span.begin < end ? "they overlap" : "there is a hole between them"),
                  file);
    end = entry.span.end;
  }
  return end;
}

}  // namespace

Result<std::vector<StoredTensor>> parse_safetensors(std::span<const std::byte> data,
                                                    const std::string& file) {
  uint64_t header_bytes = 0;
  if (data.size() < sizeof header_bytes)
    return fail(ErrorCode::kCorrupt,
                fmt::format("the file has {} bytes, a safetensors file at least {}", data.size(),
                            sizeof header_bytes),
                file);
  std::memcpy(&header_bytes, data.data(), sizeof header_bytes);
  if (header_bytes > kSafetensorsMaxHeaderBytes)
    return fail(ErrorCode::kCorrupt,
                fmt::format("no safetensors file: a header of {} bytes, the limit is {}", header_bytes,
                            kSafetensorsMaxHeaderBytes),
                file);
  if (header_bytes > data.size() - sizeof header_bytes)
    return fail(ErrorCode::kCorrupt,
                fmt::format("the file has {} bytes, its header alone needs {}: it is truncated", data.size(),
                            header_bytes + sizeof header_bytes),
                file);
  const auto text = data.subspan(sizeof header_bytes, header_bytes);
  KVERN_TRY(std::vector<Entry> entries,
            read_entries({reinterpret_cast<const char*>(text.data()), text.size()}, file));
  KVERN_TRY(const uint64_t end, check_cover(entries, file));
  const std::span<const std::byte> body = data.subspan(sizeof header_bytes + header_bytes);
  if (body.size() != end)
    return fail(ErrorCode::kCorrupt,
                fmt::format("the file has {} bytes, its header describes {}: {}", data.size(),
                            end + header_bytes + sizeof header_bytes,
                            body.size() < end ? "it is truncated" : "it has bytes that no tensor owns"),
                file);
  std::vector<StoredTensor> tensors;
  tensors.reserve(entries.size());
  for (Entry& entry : entries) {
    entry.tensor.bytes = body.subspan(entry.span.begin, entry.span.end - entry.span.begin);
    tensors.push_back(std::move(entry.tensor));
  }
  return tensors;
}

}  // namespace kvern::model
