#include "server/metrics/service_metrics.h"

namespace kvern::server {
namespace {

// Bounds in seconds. Those of vLLM, with finer ones at the short end: small models on a CPU make a token in
// less than a millisecond.
const std::vector<double> kFirstTokenBounds = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                                               0.25,  0.5,   0.75, 1.0,  2.5,  5.0,  7.5,  10,
                                               20,    40,    80,   160,  640,  2560};
const std::vector<double> kTokenBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075,
                                          0.1,    0.15,  0.2,    0.3,   0.4,  0.5,   0.75, 1.0,
                                          2.5,    5.0,   7.5,    10,    20,   40,    80};
const std::vector<double> kRequestBounds = {0.01, 0.05, 0.1, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0,  10,
                                            15,   20,   30,  40,  50,  60,  120, 240, 480, 960, 1920, 7680};
const std::vector<double> kCountBounds = {1,    2,    5,    10,    20,    50,    100,    200,   500,
                                          1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000};
const std::vector<double> kChoiceBounds = {1, 2, 5, 10, 20};

Counter& ended(Metrics& metrics, const char* reason) {
  return metrics.counter("vllm:request_success_total", "Finished generations, by the reason of their end.",
                         {{"finished_reason", reason}});
}

}  // namespace

ServiceMetrics::ServiceMetrics(Metrics& metrics)
    : time_to_first_token(metrics.histogram("vllm:time_to_first_token_seconds",
                                            "From a request to its first token.", kFirstTokenBounds)),
      inter_token_latency(metrics.histogram("vllm:inter_token_latency_seconds",
                                            "Between two tokens of one choice.", kTokenBounds)),
      time_per_output_token(metrics.histogram("vllm:request_time_per_output_token_seconds",
                                              "Mean time between tokens, of each request.", kTokenBounds)),
      e2e_latency(metrics.histogram("vllm:e2e_request_latency_seconds", "From a request to its end.",
                                    kRequestBounds)),
      queue_time(metrics.histogram("vllm:request_queue_time_seconds", "From a request to its first step.",
                                   kRequestBounds)),
      prefill_time(metrics.histogram("vllm:request_prefill_time_seconds",
                                     "From the first step to the first token.", kRequestBounds)),
      decode_time(metrics.histogram("vllm:request_decode_time_seconds", "From the first token to the end.",
                                    kRequestBounds)),
      inference_time(metrics.histogram("vllm:request_inference_time_seconds",
                                       "From the first step to the end.", kRequestBounds)),
      prompt_tokens(metrics.histogram("vllm:request_prompt_tokens", "Tokens of prompts.", kCountBounds)),
      generation_tokens(
          metrics.histogram("vllm:request_generation_tokens", "New tokens of requests.", kCountBounds)),
      choices(metrics.histogram("vllm:request_params_n", "The parameter n of requests.", kChoiceBounds)),
      max_tokens(metrics.histogram("vllm:request_params_max_tokens",
                                   "The most new tokens that requests allowed.", kCountBounds)),
      ended_by_stop(ended(metrics, "stop")),
      ended_by_length(ended(metrics, "length")),
      ended_by_abort(ended(metrics, "abort")),
      ended_by_error(ended(metrics, "error")),
      refused(
          metrics.counter("kvern_requests_refused_total",
                          "Generations that were not let in: invalid, too large, or the queue was full.")) {}

void write_service_stats(const engine::ServiceStats& stats, MetricsText& out) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  out.gauge("vllm:num_requests_running", "Rows in the running batch.", number(stats.running));
  out.gauge("vllm:num_requests_waiting", "Requests that wait for their first step.", number(stats.waiting));
  out.gauge("vllm:kv_cache_usage_perc",
            "Part of the budget for keys and values that is used; 1 is all of it.",
            stats.kv_budget_bytes == 0 ? 0 : number(stats.kv_live_bytes) / number(stats.kv_budget_bytes));
  out.counter("vllm:prompt_tokens_total", "Tokens of prompts, those taken from kept prefixes included.",
              number(stats.prompt_tokens));
  out.counter("vllm:generation_tokens_total", "New tokens.", number(stats.generated_tokens));
  out.counter("kvern_requests_resumed_total", "Requests that a former process had begun.",
              number(stats.requests_resumed));
  out.counter("kvern_replayed_tokens_total", "Their tokens that it had sampled; not among the new ones.",
              number(stats.replayed_tokens));
  out.counter("vllm:prefix_cache_queries_total", "Tokens of prompts that were looked up among kept prefixes.",
              number(stats.prefix_queries));
  out.counter("vllm:prefix_cache_hits_total", "Of these, tokens that were found.",
              number(stats.cached_tokens));
  out.counter("vllm:num_preemptions_total", "Rows that were moved out of the batch for want of memory.",
              number(stats.moved_out));

  out.family("kvern_kv_bytes", "gauge", "Bytes of keys and values, by what they are.");
  out.sample(number(stats.kv_live_bytes), {{"kind", "live"}});
  out.sample(number(stats.kv_slack_bytes), {{"kind", "slack"}});
  out.sample(number(stats.outside_bytes), {{"kind", "outside"}});
  out.gauge("kvern_kv_budget_bytes", "The budget for keys and values.", number(stats.kv_budget_bytes));
  out.gauge("kvern_kv_outside_limit_bytes", "The most for rows that were moved out.",
            number(stats.outside_limit_bytes));
  out.gauge("kvern_kv_saved_bytes", "Bytes that sharing of prefixes saves.", number(stats.kv_shared_bytes));
  out.gauge("kvern_kv_pinned_bytes", "Bytes of rows that are being saved.", number(stats.kv_saving_bytes));
  out.gauge("kvern_requests_restoring", "Requests that wait for a saved prefix.", number(stats.restoring));
  out.counter("kvern_prefixes_lost_total", "Kept prefixes that went before they could be saved.",
              number(stats.prefixes_lost));
  out.gauge("kvern_rows_outside", "Rows that wait outside of the batch with their state kept.",
            number(stats.outside));
  out.gauge("kvern_prefix_entries", "Prefixes that are kept.", number(stats.prefix_entries));
  out.counter("kvern_prefix_evictions_total", "Kept prefixes that were dropped.",
              number(stats.prefix_evictions));
  out.counter("kvern_rows_moved_in_total", "Rows that came back into the batch.", number(stats.moved_in));
  out.counter("kvern_prompt_tokens_computed_total", "Tokens of prompts that were computed.",
              number(stats.computed_tokens));
  out.counter("kvern_steps_total", "Forward passes.", number(stats.steps));
  out.counter("kvern_step_seconds_total", "Time in forward passes.", stats.step_seconds);
  out.counter("kvern_schedule_seconds_total", "Time in planning and bookkeeping.", stats.schedule_seconds);
  out.family("kvern_requests_total", "counter", "Generations by how they ended.");
  out.sample(number(stats.requests_ended), {{"end", "whole"}});
  out.sample(number(stats.requests_cancelled), {{"end", "cancelled"}});
  out.sample(number(stats.requests_failed), {{"end", "failed"}});
  out.gauge("kvern_healthy", "0 when the loop has stopped because of a fault.", stats.healthy ? 1 : 0);
}

void write_tier_reports(const std::vector<engine::TierReport>& tiers, MetricsText& out) {
  if (tiers.empty()) return;
  const auto family = [&](const char* name, const char* type, const char* help, auto value) {
    out.family(name, type, help);
    for (const engine::TierReport& tier : tiers)
      out.sample(static_cast<double>(value(tier)), {{"tier", tier.stats.name}});
  };
  using Report = const engine::TierReport&;
  family("kvern_tier_entries", "gauge", "Saved prefixes.", [](Report t) { return t.stats.entries; });
  family("kvern_tier_bytes", "gauge", "Their bytes.", [](Report t) { return t.stats.bytes; });
  family("kvern_tier_pinned_bytes", "gauge", "Of them, bytes of pinned ones.",
         [](Report t) { return t.stats.pinned_bytes; });
  family("kvern_tier_other_bytes", "gauge", "Bytes of the index, the journal and other files beside them.",
         [](Report t) { return t.stats.other_bytes; });
  family("kvern_tier_evictions_total", "counter", "Saved prefixes that went to make room.",
         [](Report t) { return t.stats.evicted; });
  family("kvern_tier_lookups_total", "counter", "Prompts that were looked up.",
         [](Report t) { return t.stats.lookups; });
  family("kvern_tier_hits_total", "counter", "Of these, prompts whose beginning was found.",
         [](Report t) { return t.stats.hits; });
  family("kvern_tier_restores_total", "counter", "Beginnings that were fetched.",
         [](Report t) { return t.restores.restores; });
  family("kvern_tier_restores_short_total", "counter",
         "Of these, those that gave less than they promised: damaged, too slow, or no room.",
         [](Report t) { return t.restores.cut_short; });
  family("kvern_tier_restored_tokens_total", "counter", "Tokens that were not computed for them.",
         [](Report t) { return t.restores.tokens; });
  family("kvern_tier_restored_bytes_total", "counter", "Bytes of keys and values that were fetched.",
         [](Report t) { return t.restores.bytes; });
  family("kvern_tier_read_bytes_total", "counter", "Bytes read.",
         [](Report t) { return t.stats.bytes_read; });
  family("kvern_tier_written_bytes_total", "counter", "Bytes written.",
         [](Report t) { return t.stats.bytes_written; });
  family("kvern_tier_pending", "gauge", "Prefixes that wait or are being saved.",
         [](Report t) { return t.stats.pending; });
  family("kvern_tier_pending_bytes", "gauge", "Their bytes.", [](Report t) { return t.stats.pending_bytes; });
  family("kvern_tier_damaged_total", "counter", "Files that were damaged or missing.",
         [](Report t) { return t.stats.damaged; });
  out.family("kvern_tier_saves_total", "counter", "Prefixes that were to be saved, by what became of them.");
  for (Report t : tiers) {
    const auto sample = [&](const char* result, uint64_t value) {
      out.sample(static_cast<double>(value), {{"tier", t.stats.name}, {"result", result}});
    };
    sample("saved", t.stats.saved);
    sample("declined", t.stats.declined);
    sample("dropped", t.stats.dropped);
    sample("failed", t.stats.failed);
  }
}

}  // namespace kvern::server
