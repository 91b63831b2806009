#include "server/http/worker_pool.h"

#include <exception>
#include <string>
#include <utility>

namespace kvern::server {

WorkerPool::WorkerPool(const Options& options, LogSink& log) : capacity_(options.capacity), log_(log) {
  for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { run(); });
}

WorkerPool::~WorkerPool() {
  std::deque<std::function<void()>> dropped;  // Destroyed outside the lock: what they own may post.
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    dropped.swap(tasks_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::try_post(std::function<void()> task) {
  {
    const MutexLock lock(mutex_);
    if (stopping_ || tasks_.size() >= capacity_) return false;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

void WorkerPool::post(std::function<void()> task) {
  {
    const MutexLock lock(mutex_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

size_t WorkerPool::waiting() const {
  const MutexLock lock(mutex_);
  return tasks_.size();
}

void WorkerPool::run() {
  for (;;) {
    std::function<void()> task;
    {
      const MutexLock lock(mutex_);
      while (tasks_.empty() && !stopping_) changed_.wait(mutex_);
      if (stopping_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    try {
      task();
    } catch (const std::exception& error) {
      log_.log(LogLevel::kError, std::string("a handler failed: ") + error.what());
    }
  }
}

}  // namespace kvern::server
