#include "server/metrics/metrics.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace kvern::server {
namespace {

TEST(Metrics, WritesAllInTheOrderInWhichTheyWereMade) {
  Metrics metrics(MetricLabels{{"model_name", "m"}});
  metrics.counter("requests_total", "Requests.", {{"status", "200"}}).add(2);
  metrics.gauge("open", "Open ones.").set(-3);
  metrics.counter("requests_total", "Requests.", {{"status", "404"}}).add();
  Histogram& seconds = metrics.histogram("seconds", "Times.", {0.1, 1});
  for (const double value : {0.05, 0.1, 0.5, 7.0}) seconds.observe(value);
  metrics.collect([](MetricsText& out) { out.gauge("elsewhere", "Kept elsewhere.", 4); });
  EXPECT_EQ(metrics.text(),
            "# HELP requests_total Requests.\n"
            "# TYPE requests_total counter\n"
            "requests_total{model_name=\"m\",status=\"200\"} 2\n"
            "requests_total{model_name=\"m\",status=\"404\"} 1\n"
            "# HELP open Open ones.\n"
            "# TYPE open gauge\n"
            "open{model_name=\"m\"} -3\n"
            "# HELP seconds Times.\n"
            "# TYPE seconds histogram\n"
            "seconds_bucket{model_name=\"m\",le=\"0.1\"} 2\n"
            "seconds_bucket{model_name=\"m\",le=\"1\"} 3\n"
            "seconds_bucket{model_name=\"m\",le=\"+Inf\"} 4\n"
            "seconds_sum{model_name=\"m\"} 7.65\n"
            "seconds_count{model_name=\"m\"} 4\n"
            "# HELP elsewhere Kept elsewhere.\n"
            "# TYPE elsewhere gauge\n"
            "elsewhere{model_name=\"m\"} 4\n");
}

TEST(Metrics, TheSameNameAndLabelsAreTheSameMetric) {
  Metrics metrics;
  EXPECT_EQ(&metrics.counter("a", "A.", {{"x", "1"}}), &metrics.counter("a", "A.", {{"x", "1"}}));
  EXPECT_NE(&metrics.counter("a", "A.", {{"x", "1"}}), &metrics.counter("a", "A.", {{"x", "2"}}));
  EXPECT_EQ(&metrics.histogram("h", "H.", {1}), &metrics.histogram("h", "H.", {1}));
}

TEST(Metrics, NothingIsLostAmongThreads) {
  Metrics metrics;
  Histogram& histogram = metrics.histogram("h", "H.", {1, 2, 3});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 10'000; ++k) {
        histogram.observe(i);
        metrics.counter("c", "C.", {{"i", std::to_string(i % 2)}}).add();
      }
    });
  }
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(metrics.text().empty());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(histogram.read().cumulative, (std::vector<uint64_t>{20'000, 30'000, 40'000, 40'000}));
  EXPECT_EQ(histogram.read().sum, 60'000);
  EXPECT_EQ(metrics.counter("c", "C.", {{"i", "1"}}).value(), 20'000U);
}

TEST(MetricsDeathTest, BoundsRise) { EXPECT_DEATH(Histogram({2, 1}), ""); }

}  // namespace
}  // namespace kvern::server
