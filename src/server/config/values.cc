#include "server/config/values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace kvern::server {
namespace {

/// A number that is not negative, and what stands behind it.
std::optional<std::pair<double, std::string_view>> split(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(value) || value < 0 || text.front() == '-') return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  return std::pair{value, unit};
}

constexpr std::array<std::pair<std::string_view, size_t>, 5> kSizes = {{{"", 1},
                                                                        {"K", size_t{1} << 10},
                                                                        {"M", size_t{1} << 20},
                                                                        {"G", size_t{1} << 30},
                                                                        {"T", size_t{1} << 40}}};
constexpr std::array<std::pair<std::string_view, double>, 5> kTimes = {
    {{"", 1000}, {"s", 1000}, {"ms", 1}, {"m", 60'000}, {"h", 3'600'000}}};

/// Beyond this, clocks and sums of clocks would overflow; about 30 years.
constexpr double kMaxMilliseconds = 1e12;

}  // namespace

Result<size_t> parse_bytes(std::string_view text) {
  const auto parts = split(text);
  if (parts) {
    for (const auto& [letter, factor] : kSizes) {
      std::string_view unit = parts->second;
      if (!unit.starts_with(letter) || (letter.empty() && !unit.empty() && unit != "B")) continue;
      unit.remove_prefix(letter.size());
      if (!unit.empty() && unit != "B" && unit != "iB") continue;
      const double bytes = parts->first * static_cast<double>(factor);
      if (bytes < 9e18) return static_cast<size_t>(bytes);
    }
  }
  return fail(ErrorCode::kInvalidArgument, "write a size such as 512MiB or 2GiB");
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto parts = split(text);
  if (parts) {
    for (const auto& [unit, factor] : kTimes) {
      const double milliseconds = parts->first * factor;
      if (parts->second == unit && milliseconds <= kMaxMilliseconds)
        return std::chrono::milliseconds(static_cast<int64_t>(std::llround(milliseconds)));
    }
  }
  return fail(ErrorCode::kInvalidArgument, "write a time such as 30s, 500ms or 2m");
}

std::string bytes_text(size_t bytes) {
  for (size_t i = kSizes.size(); i-- > 1;) {
    const auto& [letter, factor] = kSizes[i];
    if (bytes >= factor && bytes % factor == 0) return fmt::format("{}{}iB", bytes / factor, letter);
  }
  return fmt::format("{}", bytes);
}

std::string duration_text(std::chrono::milliseconds duration) {
  return duration.count() % 1000 == 0 ? fmt::format("{}s", duration.count() / 1000)
                                      : fmt::format("{}ms", duration.count());
}

}  // namespace kvern::server
