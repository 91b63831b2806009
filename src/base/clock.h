// Time as a value that is passed, so that tests can hold it still.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

namespace kvern {

/// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// For durations and deadlines; never goes back.
  virtual std::chrono::steady_clock::time_point now() const = 0;
  /// For people: dates in templates and logs.
  virtual std::chrono::system_clock::time_point wall_now() const = 0;
};

std::unique_ptr<Clock> make_system_clock();

/// Stands still until moved.
class ManualClock : public Clock {
 public:
  explicit ManualClock(std::chrono::system_clock::time_point wall) : wall_(wall) {}
  std::chrono::steady_clock::time_point now() const override { return steady_; }
  std::chrono::system_clock::time_point wall_now() const override { return wall_; }
  /// By one thread at a time.
  void advance(std::chrono::nanoseconds step) {
    steady_ = steady_.load() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(step);
    wall_ = wall_.load() + std::chrono::duration_cast<std::chrono::system_clock::duration>(step);
  }

 private:
  std::atomic<std::chrono::steady_clock::time_point> steady_{};
  std::atomic<std::chrono::system_clock::time_point> wall_;
};

}  // namespace kvern
