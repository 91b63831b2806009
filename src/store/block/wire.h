// Numbers and bytes in the order of a file: little-endian, nothing aligned unless asked for.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace kvern::store {

static_assert(std::endian::native == std::endian::little,
              "the formats are written as the machine holds them");

/// Versions of a format: the oldest and the newest that this program reads.
struct KnownVersions {
  uint32_t oldest = 0;
  uint32_t newest = 0;
};

/// What is wrong with a file of a version that cannot be read; `reader`: the oldest version of a program that
/// reads it.
inline std::string unknown_version(std::string_view what, uint32_t version, uint32_t reader,
                                   const KnownVersions& known) {
  std::string text = std::string(what) + " has format " + std::to_string(version);
  if (version >= known.oldest && version <= known.newest)
    text += ", for programs of format " + std::to_string(reader) + " or later";
  const std::string newest = std::to_string(known.newest);
  if (known.oldest == known.newest) return text + "; only format " + newest + " can be read";
  return text + "; formats " + std::to_string(known.oldest) + " to " + newest + " can be read";
}

/// Appends to a buffer.
class WireWriter {
 public:
  template <typename T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void number(T value) {
    raw({reinterpret_cast<const std::byte*>(&value), sizeof value});
  }
  void raw(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void text(std::string_view text) {
    number(static_cast<uint32_t>(text.size()));
    raw(std::as_bytes(std::span(text)));
  }
  void align(size_t to) { out_.resize((out_.size() + to - 1) / to * to); }
  size_t size() const { return out_.size(); }
  std::vector<std::byte>& bytes() { return out_; }

 private:
  std::vector<std::byte> out_;
};

/// Reads what may be anybody's bytes. After the first read beyond the end nothing is read any more: numbers
/// are 0, pieces empty, and ok() is false.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <typename T>
    requires std::is_integral_v<T>
  T number() {
    T value{};
    const auto bytes = raw(sizeof value);
    if (ok_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::span<const std::byte> raw(uint64_t count) {
    ok_ = ok_ && count <= left_.size();
    if (!ok_) return {};
    const auto out = left_.first(static_cast<size_t>(count));
    left_ = left_.subspan(static_cast<size_t>(count));
    return out;
  }
  template <size_t N>
  void array(std::array<std::byte, N>& out) {
    const auto bytes = raw(N);
    if (ok_) std::memcpy(out.data(), bytes.data(), N);
  }
  std::string_view text() {
    const auto bytes = raw(number<uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool ok() const { return ok_; }
  size_t left() const { return left_.size(); }

 private:
  std::span<const std::byte> left_;
  bool ok_ = true;
};

}  // namespace kvern::store
