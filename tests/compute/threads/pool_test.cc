#include "compute/threads/pool.h"

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace kvern::compute {
namespace {

TEST(ThreadPool, RunsEveryTaskOnceWhateverTheThreads) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> ran(static_cast<size_t>(count));
      pool.run(count, [&](int64_t i, int thread) {
        EXPECT_GE(thread, 0);
        EXPECT_LT(thread, threads);
        ran[static_cast<size_t>(i)].fetch_add(1);
      });
      for (const auto& times : ran) EXPECT_EQ(times.load(), 1);
    }
  }
}

TEST(ThreadPool, FinishesAllTasksBeforeItReturnsThousandsOfTimes) {
  ThreadPool pool(3);
  std::vector<int64_t> values(64, 0);
  for (int64_t round = 1; round <= 20000; ++round) {
    pool.run(64, [&](int64_t i, int) { values[static_cast<size_t>(i)] += i; });
    // A task that ran late, or twice, would show here: the writes are not atomic.
    if (round % 1000 == 0) {
      for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], round * static_cast<int64_t>(i));
    }
  }
}

TEST(ThreadPool, WakesWorkersThatWentToSleep) {
  ThreadPool pool(4);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // far beyond the spinning
    std::atomic<int64_t> sum = 0;
    pool.run(100, [&](int64_t i, int) { sum += i; });
    ASSERT_EQ(sum.load(), 4950);
  }
}

TEST(ThreadPool, ReallyUsesItsThreads) {
  ThreadPool pool(3);
  std::atomic<int> inside = 0;
  std::set<std::thread::id> ids;
  std::mutex mutex;
  // Each task waits until all three are running, so that one thread cannot take two.
  pool.run(3, [&](int64_t, int) {
    inside.fetch_add(1);
    while (inside.load() < 3) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 3U);
  EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
}

}  // namespace
}  // namespace kvern::compute
