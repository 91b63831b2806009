// JSON Schema's `format`, as patterns.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kvern::text::grammar {

/// The pattern of a format (anchored at both ends); nothing for a format that is not known. What a pattern
/// allows is valid under the format; not all that is valid is allowed (no 29th of February, no leap second).
std::optional<std::string> pattern_of_format(std::string_view format);
/// The formats that are known, for messages.
std::string known_formats();

}  // namespace kvern::text::grammar
