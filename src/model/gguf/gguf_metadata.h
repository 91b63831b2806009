// The key-value part of a GGUF file: typed views into the mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/gguf/gguf_format.h"

namespace kvern::model {

/// An array of strings, read in order straight from the file: nothing is copied. Borrowed from the GgufFile.
class GgufStrings {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    Iterator() = default;
    explicit Iterator(const std::byte* at) : at_(at) {}
    std::string_view operator*() const {
      return {reinterpret_cast<const char*>(at_ + sizeof(uint64_t)), static_cast<size_t>(length())};
    }
    Iterator& operator++() {
      at_ += sizeof(uint64_t) + length();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    uint64_t length() const {
      uint64_t n;
      std::memcpy(&n, at_, sizeof n);
      return n;
    }
    const std::byte* at_ = nullptr;
  };

  GgufStrings() = default;
  /// `bytes` were validated: `count` strings, each a 64-bit length and its bytes.
  GgufStrings(std::span<const std::byte> bytes, size_t count) : bytes_(bytes), count_(count) {}
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  Iterator begin() const { return Iterator(bytes_.data()); }
  Iterator end() const { return Iterator(bytes_.data() + bytes_.size()); }

 private:
  std::span<const std::byte> bytes_;
  size_t count_ = 0;
};

/// One value; `bytes` are its encoding in the file, without a string's length and without an array's header.
struct GgufValue {
  GgufValueType type = GgufValueType::kUint8;
  GgufValueType element_type = GgufValueType::kUint8;  ///< of an array
  uint64_t count = 1;                                  ///< elements of an array
  std::span<const std::byte> bytes;
};

/// All metadata of one file. Immutable; views live as long as the file's mapping. Every error names the file
/// and the key.
class GgufMetadata {
 public:
  struct Entry {
    std::string_view key;
    GgufValue value;
  };

  GgufMetadata() = default;
  /// kCorrupt if two entries have one key. `path` is named in errors.
  static Result<GgufMetadata> create(std::vector<Entry> entries, std::string path);

  /// Sorted by key.
  std::span<const Entry> entries() const { return entries_; }
  const GgufValue* find(std::string_view key) const;

  /// One value as T: bool, int32_t, uint32_t, int64_t, uint64_t, float, double or std::string_view. Any
  /// integer type is accepted for an integer that fits, f32 and f64 for a floating-point number. Absent:
  /// kNotFound; another type or out of range: kCorrupt.
  template <typename T>
  Result<T> get(std::string_view key) const;

  /// As get, but an absent key is no error.
  template <typename T>
  Result<std::optional<T>> get_optional(std::string_view key) const {
    if (find(key) == nullptr) return std::optional<T>();
    KVERN_TRY(T value, get<T>(key));
    return std::optional<T>(value);
  }

  /// An array of numbers, copied; T as for get, without strings and bool.
  template <typename T>
  Result<std::vector<T>> numbers(std::string_view key) const;

  /// An array of bools, or of integers that are 0 or not.
  Result<std::vector<bool>> flags(std::string_view key) const;

  Result<GgufStrings> strings(std::string_view key) const;

 private:
  Result<const GgufValue*> require(std::string_view key) const;
  std::unexpected<Error> wrong_type(std::string_view key, std::string_view wanted) const;

  std::vector<Entry> entries_;
  std::string path_;
};

/// A value for people: numbers in decimal, strings quoted, arrays as "[1, 2, … (512 of u32)]".
std::string gguf_value_text(const GgufValue& value);

}  // namespace kvern::model
