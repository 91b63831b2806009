// A GenerationService that is watched: every protocol's requests pass through one of these, so that all are
// counted and timed alike, and all can be ended when the server shuts down.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "engine/request/generation_service.h"
#include "server/metrics/service_metrics.h"

namespace kvern::server {

/// Thread-safe.
class ObservedService : public engine::GenerationService {
 public:
  /// All three outlive it.
  ObservedService(engine::GenerationService& inner, const Clock& clock, ServiceMetrics& metrics);
  ~ObservedService() override;

  Result<engine::Ticket> submit(engine::ServiceRequest request,
                                std::shared_ptr<engine::GenerationSink> sink) override;
  void cancel(engine::Ticket ticket) override { inner_.cancel(ticket); }
  engine::ServiceStats stats() const override { return inner_.stats(); }
  std::vector<engine::RowInfo> rows() const override { return inner_.rows(); }
  Status health() const override { return inner_.health(); }
  std::vector<engine::TierReport> tiers() const override { return inner_.tiers(); }
  Result<engine::FlushReport> flush(std::chrono::steady_clock::time_point deadline) override {
    return inner_.flush(deadline);
  }

  /// From now on nothing is let in (kExhausted, retryable).
  void refuse_new();
  /// Ends what runs within one step: its sinks get on_error(kCancelled) that says why, instead of the end of
  /// a cancelled request.
  void end_all();
  /// Requests that have been let in and not ended.
  int64_t open() const;

 private:
  class Sink;
  struct Open;
  engine::GenerationService& inner_;
  const Clock& clock_;
  ServiceMetrics& metrics_;
  const std::shared_ptr<Open> open_;  // shared with sinks, which the loop may keep for longer
};

}  // namespace kvern::server
