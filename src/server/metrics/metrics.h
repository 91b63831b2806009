// Numbers that many threads change while one reads them, and the registry that writes them all out.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "server/metrics/metrics_text.h"

namespace kvern::server {

/// Grows only. Any thread.
class Counter {
 public:
  void add(uint64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

/// Goes up and down. Any thread.
class Gauge {
 public:
  void add(int64_t amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  void set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

/// How often values fell below each bound. Any thread; a reading that meets a writing may miss that one value
/// in sum or buckets, never tears one.
class Histogram {
 public:
  /// Rising, without the last bucket, which takes all.
  explicit Histogram(std::vector<double> bounds);
  void observe(double value);

  struct Reading {
    std::vector<uint64_t> cumulative;  ///< one for each bound, and the last one for all
    double sum = 0;
  };
  Reading read() const;
  const std::vector<double>& bounds() const { return bounds_; }

 private:
  const std::vector<double> bounds_;
  std::vector<std::atomic<uint64_t>> counts_;  // not cumulative; one more than bounds
  std::atomic<double> sum_{0};
};

/// Families in the order in which they were made. Metrics live as long as it does. Thread-safe.
class Metrics {
 public:
  explicit Metrics(MetricLabels common = {}) : common_(std::move(common)) {}

  /// The same name again with other labels is the same family; with the same labels, the same metric.
  Counter& counter(std::string_view name, std::string_view help, MetricLabels labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, MetricLabels labels = {});
  Histogram& histogram(std::string_view name, std::string_view help, std::vector<double> bounds);
  /// Values that are kept elsewhere: called whenever all are written. Must not call this object.
  void collect(std::function<void(MetricsText&)> collector);

  /// All of them.
  std::string text() const;

 private:
  struct Family {
    std::string name;
    std::string help;
    std::vector<std::pair<MetricLabels, std::unique_ptr<Counter>>> counters;
    std::vector<std::pair<MetricLabels, std::unique_ptr<Gauge>>> gauges;
    std::unique_ptr<Histogram> histogram;
    std::function<void(MetricsText&)> collector;
  };
  Family& family(std::string_view name, std::string_view help) KVERN_REQUIRES(mutex_);
  static void write(const Family& family, MetricsText& out);

  const MetricLabels common_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Family>> families_ KVERN_GUARDED_BY(mutex_);
};

}  // namespace kvern::server
