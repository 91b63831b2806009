// What the journal costs: the loop's thread for each token, and processors in all, at several rates of
// tokens.
//
//   journal_bench DIRECTORY
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <time.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "store/journal/journal.h"

namespace {

using namespace kvern;
using Steady = std::chrono::steady_clock;

constexpr std::chrono::seconds kTime{4};
constexpr uint64_t kRows = 8;

double cpu_seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// CPU time of the other threads of this process.
double other_threads() {
  return cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
}

struct Kind {
  const char* name;
  store::JournalSync sync;
};

/// One step after another, each a token of every row, at so many steps per second.
void measure(store::Journal& journal, const Kind& kind, double steps_per_second) {
  const auto begin = Steady::now();
  const double cpu_begin = other_threads();
  const uint64_t commits_begin = journal.stats().commits;
  std::vector<double> costs;
  for (uint64_t step = 0; Steady::now() - begin < kTime; ++step) {
    const auto due = begin + std::chrono::duration_cast<Steady::duration>(
                                 std::chrono::duration<double>(static_cast<double>(step) / steps_per_second));
    std::this_thread::sleep_until(due);
    const auto called = Steady::now();
    for (uint64_t row = 1; row <= kRows; ++row)
      journal.sampled(row, 0, step, {.token = static_cast<int32_t>(step), .logprob = {}, .top = {}});
    costs.push_back(std::chrono::duration<double, std::micro>(Steady::now() - called).count());
  }
  const double seconds = std::chrono::duration<double>(Steady::now() - begin).count();
  const double cpu = other_threads() - cpu_begin;
  std::ranges::sort(costs);
  fmt::print("| {} | {:.0f} | {:.2f}, {:.2f} | {:.3f} % | {:.0f} | {:.3f} % |\n", kind.name, steps_per_second,
             costs[costs.size() / 2], costs[costs.size() * 99 / 100],
             100 * costs[costs.size() / 2] * 1e-6 * steps_per_second,
             static_cast<double>(journal.stats().commits - commits_begin) / seconds, 100 * cpu / seconds);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    fmt::print(stderr, "journal_bench DIRECTORY\n");
    return 2;
  }
  const auto files = make_posix_files();
  const auto clock = make_system_clock();
  fmt::print(
      "| --journal-sync | steps/s of 8 rows | loop's thread in a step p50, p99, us | of its time | commits/s "
      "| "
      "of one core, the journal's thread |\n| --- | --- | --- | --- | --- | --- |\n");
  for (const Kind kind :
       {Kind{"interval", store::JournalSync::kInterval}, Kind{"always", store::JournalSync::kAlways},
        Kind{"never", store::JournalSync::kNever}}) {
    auto opened =
        store::Journal::open({.files = *files, .log = null_log(), .clock = *clock},
                             {.directory = std::string(arguments[1]) + "/journal", .sync = kind.sync});
    if (!opened) {
      fmt::print(stderr, "{}\n", opened.error().to_string());
      return 1;
    }
    for (const double rate : {20.0, 400.0}) measure(*opened->journal, kind, rate);
  }
  return 0;
}
