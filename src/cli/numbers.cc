#include "cli/numbers.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace kvern::cli {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

template <typename T>
bool read_whole(std::string_view text, T& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string expected(const std::string& text, std::string_view what) {
  return fmt::format("'{}': {} is expected", text, what);
}

}  // namespace

CLI::Validator whole_number(int64_t least, int64_t most) {
  const bool bounded = least != kLeast || most != kMost;
  const std::string range = bounded ? fmt::format(" from {} to {}", least, most) : std::string();
  return {[=](std::string& text) {
            int64_t value = 0;
            const bool good = read_whole(text, value) && value >= least && value <= most;
            return good ? std::string() : expected(text, "a whole number" + range);
          },
          bounded ? fmt::format("{} to {}", least, most) : std::string()};
}

CLI::Validator decimal_number() {
  return {[](std::string& text) {
            char* end = nullptr;
            std::strtod(text.c_str(), &end);
            const bool good = !text.empty() && end == text.c_str() + text.size();
            return good ? std::string() : expected(text, "a number");
          },
          ""};
}

CLI::Validator seed_number() {
  return {[](std::string& text) {
            uint64_t value = 0;
            return read_whole(text, value) ? std::string()
                                           : expected(text, "a whole number from 0 to 2^64 - 1");
          },
          ""};
}

}  // namespace kvern::cli
