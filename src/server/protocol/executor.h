// Where work goes that the calling thread must not wait for.
#pragma once

#include <functional>

namespace kvern::server {

/// Runs tasks, each once, on threads of its own. Thread-safe; never calls a task inside post() unless it says
/// so.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Queues and returns. Tasks may run at the same time and in any order.
  virtual void post(std::function<void()> task) = 0;
};

}  // namespace kvern::server
