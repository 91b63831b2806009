#include "server/metrics/metrics.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace kvern::server {
namespace {

template <typename T>
T& find_or_add(std::vector<std::pair<MetricLabels, std::unique_ptr<T>>>& metrics, MetricLabels labels) {
  for (const auto& [present, metric] : metrics)
    if (present == labels) return *metric;
  metrics.emplace_back(std::move(labels), std::make_unique<T>());
  return *metrics.back().second;
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {
  KVERN_CHECK(std::ranges::adjacent_find(bounds_, std::greater_equal<>()) == bounds_.end());
}

void Histogram::observe(double value) {
  const auto bucket = static_cast<size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin());
  counts_[bucket].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

Histogram::Reading Histogram::read() const {
  Reading reading;
  uint64_t below = 0;
  for (const std::atomic<uint64_t>& count : counts_) {
    below += count.load(std::memory_order_relaxed);
    reading.cumulative.push_back(below);
  }
  reading.sum = sum_.load(std::memory_order_relaxed);
  return reading;
}

Metrics::Family& Metrics::family(std::string_view name, std::string_view help) {
  for (const auto& present : families_)
    if (present->name == name) return *present;
  families_.push_back(std::make_unique<Family>());
  families_.back()->name = name;
  families_.back()->help = help;
  return *families_.back();
}

Counter& Metrics::counter(std::string_view name, std::string_view help, MetricLabels labels) {
  const MutexLock lock(mutex_);
  return find_or_add(family(name, help).counters, std::move(labels));
}

Gauge& Metrics::gauge(std::string_view name, std::string_view help, MetricLabels labels) {
  const MutexLock lock(mutex_);
  return find_or_add(family(name, help).gauges, std::move(labels));
}

Histogram& Metrics::histogram(std::string_view name, std::string_view help, std::vector<double> bounds) {
  const MutexLock lock(mutex_);
  Family& found = family(name, help);
  if (!found.histogram) found.histogram = std::make_unique<Histogram>(std::move(bounds));
  return *found.histogram;
}

void Metrics::collect(std::function<void(MetricsText&)> collector) {
  const MutexLock lock(mutex_);
  families_.push_back(std::make_unique<Family>());
  families_.back()->collector = std::move(collector);
}

void Metrics::write(const Family& family, MetricsText& out) {
  if (family.collector) return family.collector(out);
  if (!family.counters.empty()) {
    out.family(family.name, "counter", family.help);
    for (const auto& [labels, counter] : family.counters)
      out.sample(static_cast<double>(counter->value()), labels);
  }
  if (!family.gauges.empty()) {
    out.family(family.name, "gauge", family.help);
    for (const auto& [labels, gauge] : family.gauges) out.sample(static_cast<double>(gauge->value()), labels);
  }
  if (!family.histogram) return;
  out.family(family.name, "histogram", family.help);
  const Histogram::Reading reading = family.histogram->read();
  const std::vector<double>& bounds = family.histogram->bounds();
  for (size_t i = 0; i < reading.cumulative.size(); ++i) {
    const std::string bound = i < bounds.size() ? metric_number(bounds[i]) : "+Inf";
    out.sample(static_cast<double>(reading.cumulative[i]), {{"le", bound}}, "_bucket");
  }
  out.sample(reading.sum, {}, "_sum");
  out.sample(static_cast<double>(reading.cumulative.back()), {}, "_count");
}

std::string Metrics::text() const {
  MetricsText out(common_);
  const MutexLock lock(mutex_);
  for (const auto& family : families_) write(*family, out);
  return out.take();
}

}  // namespace kvern::server
