// Raw files in a Files, and safetensors files from a header and a size.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/files.h"

namespace kvern::test {

/// Writes `bytes`; the test's expectations fail later if this does.
inline void put_file(Files& files, const std::string& path, std::string_view bytes) {
  auto file = files.open(path, OpenMode::kCreate);
  if (file) static_cast<void>((*file)->write_at(0, std::as_bytes(std::span(bytes))));
}

inline std::string get_file(Files& files, const std::string& path) {
  return read_file(files, path, uint64_t{1} << 30).value_or("");
}

/// Length, header, and `body` bytes of 0x3f (finite in every format).
inline std::string safetensors_bytes(std::string_view header, size_t body) {
  const uint64_t length = header.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  out += header;
  out.append(body, '\x3f');
  return out;
}

/// Overwrites a little-endian number.
template <typename T>
void poke(std::string& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

}  // namespace kvern::test
