#include "model/gguf/gguf_metadata.h"

#include <algorithm>
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "model/printable.h"

namespace kvern::model {
namespace {

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Calls visit(number) with the stored number in its own type; false for strings, arrays and bool.
template <typename Visitor>
bool visit_number(GgufValueType type, const std::byte* at, Visitor visit) {
  switch (type) {
    case GgufValueType::kUint8:
      visit(load<uint8_t>(at));
      return true;
    case GgufValueType::kInt8:
      visit(load<int8_t>(at));
      return true;
    case GgufValueType::kUint16:
      visit(load<uint16_t>(at));
      return true;
    case GgufValueType::kInt16:
      visit(load<int16_t>(at));
      return true;
    case GgufValueType::kUint32:
      visit(load<uint32_t>(at));
      return true;
    case GgufValueType::kInt32:
      visit(load<int32_t>(at));
      return true;
    case GgufValueType::kUint64:
      visit(load<uint64_t>(at));
      return true;
    case GgufValueType::kInt64:
      visit(load<int64_t>(at));
      return true;
    case GgufValueType::kFloat32:
      visit(load<float>(at));
      return true;
    case GgufValueType::kFloat64:
      visit(load<double>(at));
      return true;
    case GgufValueType::kBool:
    case GgufValueType::kString:
    case GgufValueType::kArray:
      return false;
  }
  return false;
}

// The stored number as T, or nothing if its kind (integer or floating point) differs or it does not fit.
template <typename T>
std::optional<T> convert(GgufValueType type, const std::byte* at) {
  std::optional<T> out;
  visit_number(type, at, [&](auto number) {
    using Stored = decltype(number);
    if constexpr (std::is_floating_point_v<T> && std::is_floating_point_v<Stored>) {
      out = static_cast<T>(number);
    } else if constexpr (std::is_integral_v<T> && std::is_integral_v<Stored>) {
      if (std::in_range<T>(number)) out = static_cast<T>(number);
    }
  });
  return out;
}

template <typename T>
constexpr std::string_view wanted_name() {
  if constexpr (std::is_same_v<T, bool>) return "a bool";
  if constexpr (std::is_same_v<T, std::string_view>) return "a string";
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) return "a floating-point number";
  if constexpr (std::is_same_v<T, int32_t>) return "an integer of 32 bits";
  if constexpr (std::is_same_v<T, uint32_t>) return "an unsigned integer of 32 bits";
  if constexpr (std::is_same_v<T, int64_t>) return "an integer of 64 bits";
  return "an unsigned integer";
}

std::string scalar_text(GgufValueType type, const std::byte* at) {
  std::string text;
  if (type == GgufValueType::kBool) return load<uint8_t>(at) != 0 ? "true" : "false";
  visit_number(type, at, [&](auto number) { text = fmt::format("{}", number); });
  return text;
}

}  // namespace

Result<GgufMetadata> GgufMetadata::create(std::vector<Entry> entries, std::string path) {
  std::ranges::sort(entries, {}, &Entry::key);
  const auto twice = std::ranges::adjacent_find(entries, {}, &Entry::key);
  if (twice != entries.end())
    return fail(ErrorCode::kCorrupt, fmt::format("metadata key {} appears twice", printable(twice->key)),
                path);
  GgufMetadata metadata;
  metadata.entries_ = std::move(entries);
  metadata.path_ = std::move(path);
  return metadata;
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto found = std::ranges::lower_bound(entries_, key, {}, &Entry::key);
  return found != entries_.end() && found->key == key ? &found->value : nullptr;
}

Result<const GgufValue*> GgufMetadata::require(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("metadata key {} is missing", printable(key)), path_);
  return value;
}

std::unexpected<Error> GgufMetadata::wrong_type(std::string_view key, std::string_view wanted) const {
  const GgufValue* value = find(key);
  return fail(ErrorCode::kCorrupt,
              fmt::format("metadata key {} must be {}, but is {} ({})", printable(key), wanted,
                          gguf_value_text(*value), gguf_value_type_name(value->type)),
              path_);
}

template <typename T>
Result<T> GgufMetadata::get(std::string_view key) const {
  KVERN_TRY(const GgufValue* value, require(key));
  if constexpr (std::is_same_v<T, bool>) {
    if (value->type == GgufValueType::kBool) return load<uint8_t>(value->bytes.data()) != 0;
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    if (value->type == GgufValueType::kString)
      return T(reinterpret_cast<const char*>(value->bytes.data()), value->bytes.size());
  } else if (const auto number = convert<T>(value->type, value->bytes.data())) {
    return *number;
  }
  return wrong_type(key, wanted_name<T>());
}

template <typename T>
Result<std::vector<T>> GgufMetadata::numbers(std::string_view key) const {
  KVERN_TRY(const GgufValue* value, require(key));
  if (value->type != GgufValueType::kArray) return wrong_type(key, "an array of numbers");
  const uint64_t stride = gguf_value_bytes(value->element_type);
  if (stride == 0) return wrong_type(key, "an array of numbers");
  std::vector<T> out;
  out.reserve(value->count);
  for (uint64_t i = 0; i < value->count; ++i) {
    const auto number = convert<T>(value->element_type, value->bytes.data() + i * stride);
    if (!number) return wrong_type(key, fmt::format("an array whose elements are each {}", wanted_name<T>()));
    out.push_back(*number);
  }
  return out;
}

Result<std::vector<bool>> GgufMetadata::flags(std::string_view key) const {
  KVERN_TRY(const GgufValue* value, require(key));
  std::vector<bool> out;
  if (value->type == GgufValueType::kArray && value->element_type == GgufValueType::kBool) {
    out.reserve(value->count);
    for (const std::byte byte : value->bytes) out.push_back(byte != std::byte{0});
    return out;
  }
  KVERN_TRY(const auto integers, numbers<int64_t>(key));
  for (const int64_t integer : integers) out.push_back(integer != 0);
  return out;
}

Result<GgufStrings> GgufMetadata::strings(std::string_view key) const {
  KVERN_TRY(const GgufValue* value, require(key));
  if (value->type != GgufValueType::kArray || value->element_type != GgufValueType::kString)
    return wrong_type(key, "an array of strings");
  return GgufStrings(value->bytes, value->count);
}

std::string gguf_value_text(const GgufValue& value) {
  constexpr uint64_t kShown = 4;
  if (value.type == GgufValueType::kString)
    return printable({reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()});
  if (value.type != GgufValueType::kArray) return scalar_text(value.type, value.bytes.data());
  std::string text = "[";
  const bool strings = value.element_type == GgufValueType::kString;
  auto next = strings ? GgufStrings(value.bytes, value.count).begin() : GgufStrings::Iterator();
  for (uint64_t i = 0; i < std::min(kShown, value.count); ++i) {
    if (i > 0) text += ", ";
    text += strings ? printable(*next++)
                    : scalar_text(value.element_type,
                                  value.bytes.data() + i * gguf_value_bytes(value.element_type));
  }
  if (value.count > kShown) text += ", …";
  return text + fmt::format("] ({} of {})", value.count, gguf_value_type_name(value.element_type));
}

template Result<bool> GgufMetadata::get<bool>(std::string_view) const;
template Result<int32_t> GgufMetadata::get<int32_t>(std::string_view) const;
template Result<uint32_t> GgufMetadata::get<uint32_t>(std::string_view) const;
template Result<int64_t> GgufMetadata::get<int64_t>(std::string_view) const;
template Result<uint64_t> GgufMetadata::get<uint64_t>(std::string_view) const;
template Result<float> GgufMetadata::get<float>(std::string_view) const;
template Result<double> GgufMetadata::get<double>(std::string_view) const;
template Result<std::string_view> GgufMetadata::get<std::string_view>(std::string_view) const;
template Result<std::vector<int32_t>> GgufMetadata::numbers<int32_t>(std::string_view) const;
template Result<std::vector<uint32_t>> GgufMetadata::numbers<uint32_t>(std::string_view) const;
template Result<std::vector<int64_t>> GgufMetadata::numbers<int64_t>(std::string_view) const;
template Result<std::vector<uint64_t>> GgufMetadata::numbers<uint64_t>(std::string_view) const;
template Result<std::vector<float>> GgufMetadata::numbers<float>(std::string_view) const;
template Result<std::vector<double>> GgufMetadata::numbers<double>(std::string_view) const;

}  // namespace kvern::model
