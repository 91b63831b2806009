#include "server/metrics/service_metrics.h"

#include <string>

#include <gtest/gtest.h>

namespace kvern::server {
namespace {

TEST(ServiceMetrics, ValuesStandUnderTheNamesThatDashboardsKnow) {
  engine::ServiceStats stats;
  stats.running = 3;
  stats.waiting = 4;
  stats.kv_budget_bytes = 1000;
  stats.kv_live_bytes = 250;
  stats.outside_bytes = 17;
  stats.prompt_tokens = 100;
  stats.cached_tokens = 60;
  stats.generated_tokens = 50;
  stats.prefix_queries = 90;
  stats.moved_out = 2;
  MetricsText out;
  write_service_stats(stats, out);
  const std::string text = out.take();
  for (const char* line :
       {"vllm:num_requests_running 3\n", "vllm:num_requests_waiting 4\n", "vllm:kv_cache_usage_perc 0.25\n",
        "vllm:prompt_tokens_total 100\n", "vllm:generation_tokens_total 50\n",
        "vllm:prefix_cache_queries_total 90\n", "vllm:prefix_cache_hits_total 60\n",
        "vllm:num_preemptions_total 2\n", "kvern_kv_bytes{kind=\"live\"} 250\n",
        "kvern_kv_bytes{kind=\"outside\"} 17\n", "kvern_healthy 1\n",
        "# TYPE vllm:num_requests_running gauge\n", "# TYPE vllm:prompt_tokens_total counter\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

TEST(ServiceMetrics, NoBudgetIsNoUsage) {
  MetricsText out;
  write_service_stats({}, out);
  EXPECT_NE(out.take().find("vllm:kv_cache_usage_perc 0\n"), std::string::npos);
}

TEST(ServiceMetrics, TimesAreHistogramsWithVllmsNames) {
  Metrics metrics;
  ServiceMetrics service(metrics);
  service.time_to_first_token.observe(0.03);
  service.ended_by_length.add();
  const std::string text = metrics.text();
  for (const char* line :
       {"vllm:time_to_first_token_seconds_bucket{le=\"0.02\"} 0\n",
        "vllm:time_to_first_token_seconds_bucket{le=\"0.04\"} 1\n",
        "vllm:time_to_first_token_seconds_count 1\n", "# TYPE vllm:inter_token_latency_seconds histogram\n",
        "# TYPE vllm:request_time_per_output_token_seconds histogram\n",
        "# TYPE vllm:e2e_request_latency_seconds histogram\n",
        "# TYPE vllm:request_queue_time_seconds histogram\n", "# TYPE vllm:request_prompt_tokens histogram\n",
        "vllm:request_success_total{finished_reason=\"stop\"} 0\n",
        "vllm:request_success_total{finished_reason=\"length\"} 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

}  // namespace
}  // namespace kvern::server
