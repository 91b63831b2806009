// Threads that run handlers, so that those of the network never wait for one.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"

namespace kvern::server {

/// Thread-safe. The destructor waits for the task that each thread runs, and drops those that wait. What a
/// task throws is logged and ends that task alone.
class WorkerPool {
 public:
  struct Options {
    int threads = 2;
    size_t capacity = 256;  ///< tasks of try_post that wait
  };
  /// The log outlives the pool.
  WorkerPool(const Options& options, LogSink& log);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// False, and nothing happens, when as many tasks wait as may.
  bool try_post(std::function<void()> task);
  /// For work that belongs to what was let in already: always taken.
  void post(std::function<void()> task);
  size_t waiting() const;

 private:
  void run();

  const size_t capacity_;
  LogSink& log_;
  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> tasks_ KVERN_GUARDED_BY(mutex_);
  bool stopping_ KVERN_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // Last: they use all of the above.
};

}  // namespace kvern::server
