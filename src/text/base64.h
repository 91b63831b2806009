// Base64 (RFC 4648, section 4), as binary data stands in JSON files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kvern::text {

/// The bytes; nothing when `text` is not base64. White space is not allowed, padding may be absent.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace kvern::text
