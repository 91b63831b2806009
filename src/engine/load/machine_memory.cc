#include "engine/load/machine_memory.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

namespace kvern::engine {
namespace {

constexpr size_t kLeastBudget = size_t{64} << 20;
constexpr size_t kMostBytesRead = 512;  // MemAvailable is the third line

// Files of the kernel have no size, so they are read byte by byte until there is no more.
std::string read_beginning(Files& files, const std::string& path) {
  std::string text;
  const auto file = files.open(path, OpenMode::kRead);
  if (!file) return text;
  std::byte byte{};
  while (text.size() < kMostBytesRead && (*file)->read_at(text.size(), {&byte, 1})) {
    text.push_back(static_cast<char>(byte));
  }
  return text;
}

std::optional<size_t> number_in(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

}  // namespace

std::optional<size_t> available_memory(Files& files) {
  constexpr std::string_view kKey = "MemAvailable:";
  std::optional<size_t> available;
  const std::string machine = read_beginning(files, "/proc/meminfo");
  if (const size_t at = machine.find(kKey); at != std::string::npos) {
    available = number_in(std::string_view(machine).substr(at + kKey.size()));
    if (available) *available *= 1024;
  }
  // "max" is no number: no limit.
  const auto limit = number_in(read_beginning(files, "/sys/fs/cgroup/memory.max"));
  if (limit && (!available || *limit < *available)) available = limit;
  return available;
}

size_t default_kv_budget(std::optional<size_t> available_bytes, size_t weight_bytes) {
  if (!available_bytes) return 0;
  const size_t left = *available_bytes - std::min(*available_bytes, weight_bytes);
  return std::max(left / 4 * 3, kLeastBudget);
}

}  // namespace kvern::engine
