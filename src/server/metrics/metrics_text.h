// Prometheus' text format, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvern::server {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

/// Writes families of samples, one after another. Names are ours and must be valid; texts are escaped.
class MetricsText {
 public:
  /// Labels that every sample gets before its own.
  explicit MetricsText(MetricLabels common = {}) : common_(std::move(common)) {}

  /// Begins a family: "counter", "gauge" or "histogram". Its samples follow.
  void family(std::string_view name, std::string_view type, std::string_view help);
  /// `suffix`: "_bucket", "_sum", "_count" of histograms.
  void sample(double value, const MetricLabels& labels = {}, std::string_view suffix = {});

  /// A family with one sample.
  void counter(std::string_view name, std::string_view help, double value);
  void gauge(std::string_view name, std::string_view help, double value);

  std::string take() { return std::move(out_); }

 private:
  MetricLabels common_;
  std::string name_;
  std::string out_;
};

/// "3", "0.25", "1e+100", "+Inf", "NaN": the shortest text that is read back as this number.
std::string metric_number(double value);

}  // namespace kvern::server
