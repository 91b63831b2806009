// Names from untrusted files, made safe for messages.
#pragma once

#include <string>
#include <string_view>

namespace kvern::model {

/// The text in single quotes; control characters, quotes and bytes above 126 as \xNN, cut after 96 bytes with
/// "…" outside the quotes. A hostile name can so neither move the cursor of a terminal nor flood a log.
std::string printable(std::string_view text);

}  // namespace kvern::model
