// What one run has for itself, so that running it again gives the same answer: its names, its time of
// creation, and the tokens that were there before.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "engine/request/generation_service.h"
#include "server/protocol/context.h"
#include "server/protocol/id_source.h"
#include "store/journal/journal.h"

namespace kvern::server {

/// What an answer depends on beside its request and the model.
struct RunSeed {
  uint64_t run = 0;   ///< its name in the journal
  uint64_t salt = 0;  ///< of its ids, and of a seed that nobody gave
  std::chrono::system_clock::time_point created;
};

/// Goes on with durations, but its wall clock stands still.
class StandingClock : public Clock {
 public:
  StandingClock(const Clock& base, std::chrono::system_clock::time_point wall) : base_(base), wall_(wall) {}
  std::chrono::steady_clock::time_point now() const override { return base_.now(); }
  std::chrono::system_clock::time_point wall_now() const override { return wall_; }

 private:
  const Clock& base_;
  const std::chrono::system_clock::time_point wall_;
};

/// The service as a run sees it: its one request takes the tokens along that a former process had sampled,
/// and those that are sampled are written down. Thread-safe as the service is.
class RunService : public engine::GenerationService {
 public:
  /// `journal` may be null. Both outlive it, and the requests that are submitted.
  RunService(engine::GenerationService& base, store::Journal* journal, uint64_t run)
      : base_(base), journal_(journal), run_(run) {}
  /// Before submit().
  void set_replay(engine::Replay replay) { replay_ = std::move(replay); }

  Result<engine::Ticket> submit(engine::ServiceRequest request,
                                std::shared_ptr<engine::GenerationSink> sink) override;
  void cancel(engine::Ticket ticket) override { base_.cancel(ticket); }
  engine::ServiceStats stats() const override { return base_.stats(); }
  std::vector<engine::RowInfo> rows() const override { return base_.rows(); }
  Status health() const override { return base_.health(); }

 private:
  engine::GenerationService& base_;
  store::Journal* const journal_;
  const uint64_t run_;
  std::optional<engine::Replay> replay_;
};

/// Immutable once its request is submitted. What it refers to outlives it.
struct RunScope {
  RunScope(const ProtocolContext& base, store::Journal* journal, const RunSeed& seed);
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

  IdSource ids;
  StandingClock created;
  RunService service;
  store::AcceptedRecord record;  ///< what the journal has, or is to have, of the request
  bool resumed = false;          ///< a former process had begun it
  ProtocolContext reading;       ///< for the request: the time is that of its creation
  ProtocolContext answering;     ///< for its answer: time goes on
};

}  // namespace kvern::server
