#include "server/metrics/process_stats.h"

#include <cstdlib>
#include <ctime>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace kvern::server {
namespace {

double value_of(const std::string& text, const std::string& name) {
  const size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
}

std::string stats() {
  MetricsText out;
  write_process_stats(out);
  return out.take();
}

TEST(ProcessStats, AreThoseOfThisProcess) {
  const std::string before = stats();
  EXPECT_GT(value_of(before, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GE(value_of(before, "process_virtual_memory_bytes"),
            value_of(before, "process_resident_memory_bytes"));
  EXPECT_LE(value_of(before, "process_start_time_seconds"), static_cast<double>(std::time(nullptr)) + 2);
  EXPECT_GT(value_of(before, "process_start_time_seconds"), static_cast<double>(std::time(nullptr)) - 86'400);
  EXPECT_GE(value_of(before, "process_cpu_seconds_total"), 0);

  const int extra = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(value_of(stats(), "process_open_fds"), value_of(before, "process_open_fds") + 1);
  ::close(extra);
}

}  // namespace
}  // namespace kvern::server
