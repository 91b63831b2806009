// When to leave a server alone that does not answer.
#pragma once

#include <chrono>

#include "base/clock.h"
#include "base/mutex.h"

namespace kvern::store {

struct BreakerOptions {
  int failures = 2;  ///< one after the other, until it is left alone
  std::chrono::milliseconds first_pause{250};
  std::chrono::milliseconds longest_pause{30'000};  ///< each pause is twice the one before, up to this
};

/// Thread-safe. While a pause lasts nobody may call; then one may try, and the others wait for what comes of
/// it.
class CircuitBreaker {
 public:
  /// `clock` is borrowed.
  CircuitBreaker(const Clock& clock, const BreakerOptions& options) : clock_(clock), options_(options) {}

  /// Whether to call now. True obliges to say how it went.
  bool may_call();
  /// Whether may_call() would say so; obliges to nothing.
  bool may_call_now() const;
  /// Whether the server was left alone before.
  bool succeeded();
  /// Whether it is left alone from now on, and was not before.
  bool failed();

 private:
  const Clock& clock_;
  const BreakerOptions options_;
  mutable Mutex mutex_;
  int failures_ KVERN_GUARDED_BY(mutex_) = 0;
  bool paused_ KVERN_GUARDED_BY(mutex_) = false;
  bool trying_ KVERN_GUARDED_BY(mutex_) = false;
  std::chrono::milliseconds pause_ KVERN_GUARDED_BY(mutex_){0};
  std::chrono::steady_clock::time_point until_ KVERN_GUARDED_BY(mutex_);
};

}  // namespace kvern::store
