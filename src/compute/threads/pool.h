// A fixed pool of threads for fork-join work inside one step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace kvern::compute {

/// Runs `count` indexed tasks on the calling thread and `threads - 1` workers. Between calls workers spin for
/// a short while (about the length of one kernel gap) and then sleep. One caller at a time; the tasks
/// themselves must not call run(). Tasks are handed out dynamically, so nothing that a task computes may
/// depend on which thread runs it.
class ThreadPool {
 public:
  /// `threads` >= 1 in all, the caller included. Throws std::system_error where the system gives no more.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  /// Calls task(index, thread) for each index in [0, count), thread in [0, threads()); returns when all are
  /// done.
  template <typename Task>
  void run(int64_t count, const Task& task) {
    run_erased(
        count,
        [](const void* context, int64_t index, int thread) {
          (*static_cast<const Task*>(context))(index, thread);
        },
        &task);
  }

 private:
  using ErasedTask = void (*)(const void* context, int64_t index, int thread);
  void run_erased(int64_t count, ErasedTask task, const void* context);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvern::compute
