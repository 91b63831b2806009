#include "server/protocol/thread_executor.h"

#include <exception>
#include <string>
#include <utility>

namespace kvern::server {

ThreadExecutor::ThreadExecutor(int threads, LogSink& log) : log_(log) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

ThreadExecutor::~ThreadExecutor() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
}

void ThreadExecutor::post(std::function<void()> task) {
  {
    const MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void ThreadExecutor::run() {
  for (;;) {
    std::function<void()> task;
    {
      const MutexLock lock(mutex_);
      while (tasks_.empty() && !closing_) changed_.wait(mutex_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    try {
      task();
    } catch (const std::exception& error) {
      log_.log(LogLevel::kError, std::string("a task failed: ") + error.what());
    }
  }
}

}  // namespace kvern::server
