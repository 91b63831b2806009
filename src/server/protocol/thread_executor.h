// An Executor with threads of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "server/protocol/executor.h"

namespace kvern::server {

/// Tasks begin in the order in which they came. What one throws is logged and ends that task alone.
class ThreadExecutor : public Executor {
 public:
  /// `log` outlives the executor.
  ThreadExecutor(int threads, LogSink& log);
  /// Runs what was posted, then ends. Nothing may be posted any more, except by these tasks.
  ~ThreadExecutor() override;
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  void post(std::function<void()> task) override;

 private:
  void run();

  LogSink& log_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> tasks_ KVERN_GUARDED_BY(mutex_);
  bool closing_ KVERN_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;
};

}  // namespace kvern::server
