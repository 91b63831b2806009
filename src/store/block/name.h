// Names of blocks and manifests: the SHA-256 of what they say.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace kvern::store {

/// Of a block or a manifest. Two contents never share one.
struct ContentName {
  Sha256Digest digest{};

  auto operator<=>(const ContentName&) const = default;
  /// 64 hexadecimal digits: the name of its file.
  std::string to_string() const { return to_hex(digest); }
};

/// What to_string gives; nothing for any other text.
inline std::optional<ContentName> parse_content_name(std::string_view text) {
  ContentName name;
  if (text.size() != 2 * name.digest.size()) return std::nullopt;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (size_t i = 0; i < name.digest.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    name.digest[i] = static_cast<std::byte>(high * 16 + low);
  }
  return name;
}

struct ContentNameHash {
  size_t operator()(const ContentName& name) const {
    size_t value = 0;
    std::memcpy(&value, name.digest.data(), sizeof value);
    return value;
  }
};

}  // namespace kvern::store
