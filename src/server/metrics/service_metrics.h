// What is counted and timed about generations, by the names that dashboards for vLLM know
// (https://docs.vllm.ai/en/stable/usage/metrics/), and beside them our own (kvern_...).
#pragma once

#include <array>
#include <vector>

#include "engine/request/generation_service.h"
#include "server/metrics/metrics.h"

namespace kvern::server {

/// Made once for a registry, which outlives it. Any thread.
struct ServiceMetrics {
  explicit ServiceMetrics(Metrics& metrics);

  Histogram& time_to_first_token;
  Histogram& inter_token_latency;
  Histogram& time_per_output_token;  ///< mean of a whole choice
  Histogram& e2e_latency;
  Histogram& queue_time;
  Histogram& prefill_time;
  Histogram& decode_time;
  Histogram& inference_time;
  Histogram& prompt_tokens;
  Histogram& generation_tokens;
  Histogram& choices;
  Histogram& max_tokens;
  /// Of choices: why they ended.
  Counter& ended_by_stop;
  Counter& ended_by_length;
  Counter& ended_by_abort;
  Counter& ended_by_error;  ///< of requests
  Counter& refused;         ///< requests that were not let in
};

/// The service's own counters and gauges.
void write_service_stats(const engine::ServiceStats& stats, MetricsText& out);

/// What was saved to and restored from the places beyond memory; nothing where there are none.
void write_tier_reports(const std::vector<engine::TierReport>& tiers, MetricsText& out);

}  // namespace kvern::server
