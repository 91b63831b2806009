// Whether a request can run at all: what submit() answers at once.
#pragma once

#include <memory>

#include "engine/load/engine.h"
#include "engine/loop/loop_options.h"
#include "engine/request/generation_service.h"
#include "engine/schedule/admission.h"

namespace kvern::engine {

/// Immutable, thread-safe. The engine outlives it.
class RequestCheck {
 public:
  RequestCheck(const Engine& engine, const LoopOptions& options);
  /// The errors of GenerationService::submit, but for those of the queue.
  Status check(const ServiceRequest& request) const;
  /// What ServiceRequest::as_long_as_fits says; before check().
  void lower_to_what_fits(ServiceRequest& request) const;

 private:
  Status check_prompt(const std::vector<TokenId>& prompt) const;
  Status check_choices(const ServiceRequest& request) const;
  Status check_replay(const ServiceRequest& request) const;
  Status check_memory(const ServiceRequest& request) const;
  Demand demand_of(const ServiceRequest& request) const;
  Projection projection() const;

  const Engine& engine_;
  int64_t max_rows_;
  // Without rows, only for its projections: the engine's belongs to the loop's thread.
  std::unique_ptr<state::KvCache> projection_;
};

/// kExhausted, retryable: so many requests wait already.
Error queue_full(int64_t max_queue);

}  // namespace kvern::engine
