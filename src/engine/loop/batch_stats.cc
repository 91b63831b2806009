// What operators see of a batch.
#include <algorithm>
#include <string>

#include "engine/loop/batch.h"

namespace kvern::engine {
namespace {

RowInfo info_of(const Row& row, std::string state) {
  const Request& request = *row.request;
  return {.ticket = request.ticket,
          .choice = row.choice,
          .state = std::move(state),
          .prompt_tokens = request.prompt_tokens(),
          .computed_tokens = request.cached_tokens + request.computed_tokens,
          .generated_tokens = generated_tokens(row)};
}

}  // namespace

ServiceStats Batch::stats() const {
  ServiceStats stats = stats_;
  const PrefixStats prefixes = storage_.prefixes().stats();
  stats.prefix_queries = prefixes.queried_tokens;
  stats.prefix_evictions = prefixes.evictions;
  stats.prefix_entries = prefixes.entries;
  stats.running = std::ranges::count_if(running_, &Row::open);
  stats.waiting = waiting();
  for (const Restoring& restoring : restoring_)
    stats.restoring += static_cast<int64_t>(restoring.requests.size());
  if (const Tiers* tiers = storage_.tiers(); tiers != nullptr) {
    stats.restores = tiers->restores();
    stats.kv_saving_bytes = tiers->writes().saving_bytes();
    stats.prefixes_lost = tiers->writes().lost();
  }
  stats.outside = static_cast<int64_t>(outside_.size());
  const state::LayoutUsage usage = engine_.kv().usage();
  stats.kv_budget_bytes = engine_.kv().options().budget_bytes;
  stats.kv_live_bytes = usage.live;
  stats.kv_shared_bytes = usage.shared;
  stats.kv_slack_bytes = usage.slack;
  stats.outside_bytes = storage_.outside_bytes();
  stats.outside_limit_bytes = *options_.outside_bytes;
  return stats;
}

int64_t Batch::waiting() const {
  size_t restoring = 0;
  for (const Restoring& each : restoring_) restoring += each.requests.size();
  return static_cast<int64_t>(queue_.size() + followers_.size() + restoring);
}

std::vector<RowInfo> Batch::rows() const {
  std::vector<RowInfo> rows;
  rows.reserve(running_.size() + outside_.size() + static_cast<size_t>(waiting()));
  for (const Row* row : running_) rows.push_back(info_of(*row, in_prefill(*row) ? "prefill" : "decode"));
  for (const Row* row : outside_) rows.push_back(info_of(*row, "outside"));
  const auto add_waiting = [&](const Request& request, const char* state = "waiting") {
    rows.push_back(
        {.ticket = request.ticket, .choice = 0, .state = state, .prompt_tokens = request.prompt_tokens()});
  };
  for (const Restoring& restoring : restoring_) {
    for (const Request* request : restoring.requests) add_waiting(*request, "restoring");
  }
  for (const Follower& follower : followers_) add_waiting(*follower.request);
  for (const QueueItem item : queue_.items()) add_waiting(*requests_.at(item));
  return rows;
}

}  // namespace kvern::engine
