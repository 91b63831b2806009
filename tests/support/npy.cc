#include "support/npy.h"

#include <bit>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "base/files.h"

namespace kvern::test {
namespace {

static_assert(std::endian::native == std::endian::little, "values are used as they lie in the file");

constexpr uint64_t kLargestFile = uint64_t{2} << 30;
constexpr std::string_view kMagic{"\x93NUMPY\x01\x00", 8};
constexpr size_t kHeaderStart = 10;  // After the magic and two bytes that hold the header's length.

template <typename T>
constexpr std::string_view kDescription = "";
template <>
constexpr std::string_view kDescription<float> = "<f4";
template <>
constexpr std::string_view kDescription<double> = "<f8";
template <>
constexpr std::string_view kDescription<uint8_t> = "|u1";
template <>
constexpr std::string_view kDescription<uint16_t> = "<u2";
template <>
constexpr std::string_view kDescription<uint32_t> = "<u4";
template <>
constexpr std::string_view kDescription<int32_t> = "<i4";
template <>
constexpr std::string_view kDescription<int64_t> = "<i8";

struct Npy {
  std::string description;
  std::vector<size_t> shape;
  std::string data;
};

/// What stands between `before` and `after` in the header, a Python dictionary that NumPy always writes
/// alike.
Result<std::string> between(std::string_view header, std::string_view before, std::string_view after) {
  const size_t start = header.find(before);
  const size_t end = start == std::string_view::npos ? start : header.find(after, start + before.size());
  if (end == std::string_view::npos)
    return fail(ErrorCode::kCorrupt, fmt::format("no {} in the header", before));
  return std::string(header.substr(start + before.size(), end - start - before.size()));
}

Result<std::vector<size_t>> parse_shape(std::string_view text) {
  std::vector<size_t> shape;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string item(text.substr(0, comma));
    if (item.find_first_of("0123456789") != std::string::npos) shape.push_back(std::stoull(item));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return shape;
}

Result<Npy> read(const std::string& path) {
  const auto files = make_posix_files();
  KVERN_TRY(const std::string bytes, read_file(*files, path, kLargestFile));
  if (bytes.size() < kHeaderStart || !bytes.starts_with(kMagic))
    return fail(ErrorCode::kCorrupt, "not a .npy file of version 1.0", path);
  uint16_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data() + kMagic.size(), sizeof(header_bytes));
  if (bytes.size() < kHeaderStart + header_bytes)
    return fail(ErrorCode::kCorrupt, "the header is cut off", path);
  const std::string_view header = std::string_view(bytes).substr(kHeaderStart, header_bytes);

  Npy npy;
  KVERN_TRY(npy.description, between(header, "'descr': '", "'"));
  KVERN_TRY(const std::string order, between(header, "'fortran_order': ", ","));
  if (order != "False") return fail(ErrorCode::kUnsupported, "Fortran order", path);
  KVERN_TRY(const std::string shape, between(header, "'shape': (", ")"));
  KVERN_TRY(npy.shape, parse_shape(shape));
  npy.data = bytes.substr(kHeaderStart + header_bytes);
  return npy;
}

template <typename T>
Result<NpyArray<T>> convert(const Npy& npy, const std::string& path) {
  if (npy.description != kDescription<T>)
    return fail(ErrorCode::kUnsupported, fmt::format("holds {}, not {}", npy.description, kDescription<T>),
                path);
  size_t count = 1;
  for (const size_t extent : npy.shape) count *= extent;
  if (npy.data.size() != count * sizeof(T))
    return fail(ErrorCode::kCorrupt,
                fmt::format("{} bytes of values; the shape needs {}", npy.data.size(), count * sizeof(T)),
                path);
  NpyArray<T> array{.shape = npy.shape, .values = std::vector<T>(count)};
  std::memcpy(array.values.data(), npy.data.data(), npy.data.size());
  return array;
}

template <typename T>
Result<NpyArray<int64_t>> widened(const Npy& npy, const std::string& path) {
  KVERN_TRY(const auto array, convert<T>(npy, path));
  return NpyArray<int64_t>{.shape = array.shape, .values = {array.values.begin(), array.values.end()}};
}

}  // namespace

template <typename T>
Result<NpyArray<T>> read_npy(const std::string& path) {
  KVERN_TRY(const Npy npy, read(path));
  return convert<T>(npy, path);
}

template Result<NpyArray<float>> read_npy(const std::string&);
template Result<NpyArray<double>> read_npy(const std::string&);
template Result<NpyArray<uint8_t>> read_npy(const std::string&);
template Result<NpyArray<uint16_t>> read_npy(const std::string&);
template Result<NpyArray<uint32_t>> read_npy(const std::string&);
template Result<NpyArray<int32_t>> read_npy(const std::string&);
template Result<NpyArray<int64_t>> read_npy(const std::string&);

Result<NpyArray<int64_t>> read_npy_integers(const std::string& path) {
  KVERN_TRY(const Npy npy, read(path));
  if (npy.description == kDescription<int32_t>) return widened<int32_t>(npy, path);
  if (npy.description == kDescription<uint32_t>) return widened<uint32_t>(npy, path);
  if (npy.description == kDescription<uint16_t>) return widened<uint16_t>(npy, path);
  return convert<int64_t>(npy, path);
}

}  // namespace kvern::test
