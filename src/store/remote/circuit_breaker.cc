#include "store/remote/circuit_breaker.h"

#include <algorithm>

namespace kvern::store {

bool CircuitBreaker::may_call() {
  const MutexLock lock(mutex_);
  if (!paused_) return true;
  if (trying_ || clock_.now() < until_) return false;
  trying_ = true;
  return true;
}

bool CircuitBreaker::may_call_now() const {
  const MutexLock lock(mutex_);
  return !paused_ || (!trying_ && clock_.now() >= until_);
}

bool CircuitBreaker::succeeded() {
  const MutexLock lock(mutex_);
  const bool was_paused = paused_;
  failures_ = 0;
  paused_ = trying_ = false;
  pause_ = {};
  return was_paused;
}

bool CircuitBreaker::failed() {
  const MutexLock lock(mutex_);
  const bool was_paused = paused_;
  ++failures_;
  trying_ = false;
  if (failures_ < options_.failures && !paused_) return false;
  pause_ = std::min(options_.longest_pause, std::max(options_.first_pause, 2 * pause_));
  until_ = clock_.now() + pause_;
  paused_ = true;
  return !was_paused;
}

}  // namespace kvern::store
