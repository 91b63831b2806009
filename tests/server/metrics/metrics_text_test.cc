#include "server/metrics/metrics_text.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace kvern::server {
namespace {

TEST(MetricsText, WritesFamiliesAsPrometheusReadsThem) {
  MetricsText out(MetricLabels{{"model_name", "tiny"}});
  out.family("http_requests_total", "counter", "How many.");
  out.sample(1027, {{"code", "200"}});
  out.sample(3, {{"code", "400"}});
  out.gauge("temperature", "How warm.", -0.5);
  EXPECT_EQ(out.take(),
            "# HELP http_requests_total How many.\n"
            "# TYPE http_requests_total counter\n"
            "http_requests_total{model_name=\"tiny\",code=\"200\"} 1027\n"
            "http_requests_total{model_name=\"tiny\",code=\"400\"} 3\n"
            "# HELP temperature How warm.\n"
            "# TYPE temperature gauge\n"
            "temperature{model_name=\"tiny\"} -0.5\n");
}

TEST(MetricsText, EscapesTexts) {
  MetricsText out;
  out.family("a:b_c", "gauge", "back\\slash, \"quotes\" and\nline");
  out.sample(0, {{"path", "C:\\x\n\"y\""}});
  EXPECT_EQ(out.take(),
            "# HELP a:b_c back\\\\slash, \"quotes\" and\\nline\n"
            "# TYPE a:b_c gauge\n"
            "a:b_c{path=\"C:\\\\x\\n\\\"y\\\"\"} 0\n");
}

TEST(MetricsText, NumbersAreShortAndExact) {
  EXPECT_EQ(metric_number(0), "0");
  EXPECT_EQ(metric_number(0.1), "0.1");
  EXPECT_EQ(metric_number(1e15), "1000000000000000");
  EXPECT_EQ(metric_number(1e300), "1e+300");
  EXPECT_EQ(metric_number(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(metric_number(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(metric_number(std::nan("")), "NaN");
}

}  // namespace
}  // namespace kvern::server
