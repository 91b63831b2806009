// How a batch is run: limits and budgets. No option changes what a request gets, only when.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "engine/prefix/prefix_cache.h"
#include "engine/request/generation_service.h"
#include "engine/schedule/plan.h"
#include "engine/tiers/tier_options.h"

namespace kvern::engine {

/// Called on the loop's thread, for tests of failure.
struct LoopHooks {
  /// At the beginning of a step. What it throws is a fault of the loop itself.
  std::function<void()> before_step;
  /// Before a token is sampled; may change the logits [vocab]. What it throws is an error of that row.
  std::function<void(Ticket ticket, int32_t choice, std::span<float> logits)> before_sampling;
};

/// The budget of bytes is that of the engine's KvCache (EngineOptions::kv_budget_bytes): kept prefixes and
/// running rows live on the same.
struct LoopOptions {
  /// Most rows in the batch, at least 1. A request has a row for each choice.
  int64_t max_rows = 64;
  /// Most requests that wait for their first step, at least 1.
  int64_t max_queue = 1024;
  /// StepBudget::mixed_tokens.
  int64_t mixed_tokens = 16;
  /// Most prompt tokens of a step in which no row decodes; 0: EngineOptions::chunk_tokens.
  int64_t chunk_tokens = 0;
  /// Most bytes of rows that were moved out, beside the budget; nothing: a quarter of it.
  std::optional<size_t> outside_bytes;
  /// Kept prefixes; `context_tokens` is filled in.
  PrefixOptions prefix;
  /// Of rows that have ended, only the latest is kept: one conversation.
  bool keep_latest_only = false;
  /// Where prefixes are looked for and saved beyond memory.
  TierOptions tiers;
  LoopHooks hooks;
};

}  // namespace kvern::engine
