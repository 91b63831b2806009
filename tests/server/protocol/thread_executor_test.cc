#include "server/protocol/thread_executor.h"

#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "base/mutex.h"

namespace kvern::server {
namespace {

class RememberingLog : public LogSink {
 public:
  void log(LogLevel, std::string_view message) override {
    const MutexLock lock(mutex_);
    lines_ += std::string(message) + "\n";
  }
  std::string lines() {
    const MutexLock lock(mutex_);
    return lines_;
  }

 private:
  Mutex mutex_;
  std::string lines_ KVERN_GUARDED_BY(mutex_);
};

TEST(ThreadExecutor, runs_every_task_before_it_goes) {
  std::atomic<int> count = 0;
  {
    ThreadExecutor executor(2, null_log());
    for (int i = 0; i < 1000; ++i) executor.post([&] { ++count; });
  }
  EXPECT_EQ(count, 1000);
}

TEST(ThreadExecutor, one_thread_runs_them_in_order) {
  std::string order;
  {
    ThreadExecutor executor(1, null_log());
    for (const char letter : std::string("abcdef")) executor.post([&order, letter] { order += letter; });
  }
  EXPECT_EQ(order, "abcdef");
}

TEST(ThreadExecutor, tasks_run_beside_each_other) {
  // Each waits for the other: with one thread this would never end.
  std::latch both(2);
  ThreadExecutor executor(2, null_log());
  executor.post([&] { both.arrive_and_wait(); });
  executor.post([&] { both.arrive_and_wait(); });
  both.wait();
}

TEST(ThreadExecutor, a_task_that_throws_ends_itself_alone) {
  RememberingLog log;
  std::atomic<bool> ran = false;
  {
    ThreadExecutor executor(1, log);
    executor.post([] { throw std::runtime_error("broken"); });
    executor.post([&] { ran = true; });
  }
  EXPECT_TRUE(ran);
  EXPECT_NE(log.lines().find("broken"), std::string::npos);
}

}  // namespace
}  // namespace kvern::server
