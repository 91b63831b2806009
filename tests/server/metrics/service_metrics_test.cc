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
  stats.outside_limit_bytes = 250;
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
        "kvern_kv_bytes{kind=\"outside\"} 17\n", "kvern_kv_outside_limit_bytes 250\n", "kvern_healthy 1\n",
        "# TYPE vllm:num_requests_running gauge\n", "# TYPE vllm:prompt_tokens_total counter\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

TEST(ServiceMetrics, NoBudgetIsNoUsage) {
  MetricsText out;
  write_service_stats({}, out);
  EXPECT_NE(out.take().find("vllm:kv_cache_usage_perc 0\n"), std::string::npos);
}

TEST(ServiceMetrics, TiersAreSamplesWithTheirNames) {
  engine::TierReport disk;
  disk.stats = {
      .name = "disk", .entries = 7, .lookups = 5, .hits = 4, .saved = 3, .dropped = 2, .damaged = 1};
  disk.restores = {.restores = 4, .tokens = 400, .bytes = 4096, .cut_short = 1};
  engine::TierReport far;
  far.stats.name = "redis";
  MetricsText out;
  write_tier_reports({disk, far}, out);
  const std::string text = out.take();
  for (const char* line :
       {"kvern_tier_entries{tier=\"disk\"} 7\n", "kvern_tier_entries{tier=\"redis\"} 0\n",
        "kvern_tier_lookups_total{tier=\"disk\"} 5\n", "kvern_tier_hits_total{tier=\"disk\"} 4\n",
        "kvern_tier_restored_tokens_total{tier=\"disk\"} 400\n",
        "kvern_tier_restored_bytes_total{tier=\"disk\"} 4096\n",
        "kvern_tier_restores_short_total{tier=\"disk\"} 1\n",
        "kvern_tier_saves_total{tier=\"disk\",result=\"saved\"} 3\n",
        "kvern_tier_saves_total{tier=\"disk\",result=\"dropped\"} 2\n",
        "kvern_tier_damaged_total{tier=\"disk\"} 1\n", "# TYPE kvern_tier_hits_total counter\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
  MetricsText none;
  write_tier_reports({}, none);
  EXPECT_EQ(none.take(), "");
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
