// Dates as text.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace kvern::jinja {

/// strftime in the C locale, in UTC. The format is limited to 256 bytes and the result to 4096; beyond:
/// kExhausted.
Result<std::string> format_time(std::chrono::system_clock::time_point time, const std::string& format);

}  // namespace kvern::jinja
