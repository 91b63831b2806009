#include "engine/load/machine_memory.h"

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "engine/support/engines.h"

namespace kvern::engine {
namespace {

constexpr size_t kGiB = size_t{1} << 30;

std::unique_ptr<Files> machine(std::string_view meminfo, std::string_view limit) {
  auto files = make_memory_files();
  for (const char* folder : {"/proc", "/sys", "/sys/fs", "/sys/fs/cgroup"}) {
    static_cast<void>(files->make_directory(folder));
  }
  if (!meminfo.empty()) test::put_file(*files, "/proc/meminfo", meminfo);
  if (!limit.empty()) test::put_file(*files, "/sys/fs/cgroup/memory.max", limit);
  return files;
}

constexpr std::string_view kMeminfo =
    "MemTotal:       16384000 kB\nMemFree:          100000 kB\nMemAvailable:    8388608 kB\nBuffers: 1 kB\n";

TEST(MachineMemory, is_what_the_kernel_calls_available) {
  EXPECT_EQ(available_memory(*machine(kMeminfo, "")), 8 * kGiB);
  EXPECT_EQ(available_memory(*machine(kMeminfo, "max\n")), 8 * kGiB);
}

TEST(MachineMemory, is_the_limit_of_the_group_where_that_is_less) {
  EXPECT_EQ(available_memory(*machine(kMeminfo, "1073741824\n")), kGiB);
  EXPECT_EQ(available_memory(*machine(kMeminfo, "99999999999999\n")), 8 * kGiB);
  EXPECT_EQ(available_memory(*machine("", "1073741824\n")), kGiB);
}

TEST(MachineMemory, is_unknown_where_nothing_can_be_read) {
  EXPECT_FALSE(available_memory(*machine("", "")).has_value());
  EXPECT_FALSE(available_memory(*machine("MemTotal: 1 kB\n", "max\n")).has_value());
  EXPECT_FALSE(available_memory(*machine("MemAvailable: much\n", "")).has_value());
}

TEST(KvBudget, is_three_quarters_of_what_the_weights_leave) {
  EXPECT_EQ(default_kv_budget(9 * kGiB, kGiB), 6 * kGiB);
  EXPECT_EQ(default_kv_budget(std::nullopt, kGiB), 0U);
}

TEST(KvBudget, is_never_too_small_to_begin) {
  EXPECT_EQ(default_kv_budget(kGiB, 9 * kGiB), size_t{64} << 20);
  EXPECT_EQ(default_kv_budget(0, 0), size_t{64} << 20);
}

TEST(KvBudget, of_an_engine_is_known) {
  EngineOptions options{.threads = 1, .context_tokens = 64};
  const auto by_machine = test::open_bundled(options);
  ASSERT_TRUE(by_machine.has_value());
  EXPECT_GE((*by_machine)->kv().options().budget_bytes, size_t{64} << 20);
  options.kv_budget_bytes = 12345678;
  const auto by_hand = test::open_bundled(options);
  ASSERT_TRUE(by_hand.has_value());
  EXPECT_EQ((*by_hand)->kv().options().budget_bytes, 12345678U);
}

}  // namespace
}  // namespace kvern::engine
