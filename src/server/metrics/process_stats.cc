#include "server/metrics/process_stats.h"

#include <array>
#include <charconv>
#include <optional>
#include <string>

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace kvern::server {
namespace {

/// Files of /proc are no files in the sense of base::Files: they have no size, and are of this machine alone.
std::string read_proc(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::array<char, 8192> buffer;
  std::string text;
  for (ssize_t got = 0; (got = ::read(fd, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<size_t>(got));
  ::close(fd);
  return text;
}

/// The n-th number of a text of words, counted from 0, from `at`.
std::optional<double> word(std::string_view text, size_t n) {
  for (; n > 0; --n) {
    const size_t space = text.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    text.remove_prefix(space + 1);
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return static_cast<double>(value);
}

std::optional<double> open_descriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return std::nullopt;
  int count = -3;  // ".", ".." and the directory that is being read
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

/// When the machine was started, in seconds since 1970.
std::optional<double> boot_time() {
  const std::string text = read_proc("/proc/stat");
  const size_t at = text.find("btime ");
  if (at == std::string::npos) return std::nullopt;
  return word(std::string_view(text).substr(at + 6), 0);
}

std::optional<double> start_time() {
  // The fields behind the name, which may hold anything but is in parentheses (proc(5)); the 22nd of all is
  // the time of the start in ticks since boot.
  const std::string stat = read_proc("/proc/self/stat");
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  const auto ticks = word(std::string_view(stat).substr(name_end + 2), 22 - 3);
  const auto boot = boot_time();
  if (!ticks || !boot) return std::nullopt;
  return *boot + *ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void gauge(MetricsText& out, const char* name, const char* help, std::optional<double> value) {
  if (value) out.gauge(name, help, *value);
}

}  // namespace

void write_process_stats(MetricsText& out) {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    out.counter("process_cpu_seconds_total", "CPU time, user and system.",
                seconds(usage.ru_utime) + seconds(usage.ru_stime));
  }
  const std::string statm = read_proc("/proc/self/statm");
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  const auto pages = [&](size_t n) {
    const auto count = word(statm, n);
    return count ? std::optional<double>(*count * page) : std::nullopt;
  };
  gauge(out, "process_virtual_memory_bytes", "Virtual memory.", pages(0));
  gauge(out, "process_resident_memory_bytes", "Resident memory, mapped model files included.", pages(1));
  gauge(out, "process_start_time_seconds", "When the process was started, since 1970.", start_time());
  gauge(out, "process_open_fds", "Open descriptors.", open_descriptors());
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    out.gauge("process_max_fds", "Most descriptors.", static_cast<double>(limit.rlim_cur));
}

}  // namespace kvern::server
