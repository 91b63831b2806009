// Sizes and times as people write them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvern::server {

/// "1048576", "512KiB", "2GiB", "1.5G": K, M, G and T are powers of 1024, with "iB", "B" or nothing behind.
Result<size_t> parse_bytes(std::string_view text);

/// "30" and "30s" are seconds; "500ms", "1.5m", "2h".
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

/// What parse_bytes and parse_duration read back as the same: "2GiB", "1500ms".
std::string bytes_text(size_t bytes);
std::string duration_text(std::chrono::milliseconds duration);

}  // namespace kvern::server
