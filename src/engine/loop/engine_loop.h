// The loop on a thread of its own: a Batch behind a mailbox.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "engine/load/engine.h"
#include "engine/loop/batch.h"
#include "engine/loop/loop_options.h"
#include "engine/request/generation_service.h"

namespace kvern::engine {

enum class StopMode : uint8_t {
  kDrain,   ///< what is open ends by itself, nothing new begins
  kCancel,  ///< what is open is cancelled
};

/// Thread-safe. Owns the thread that drives the engine: nobody else may touch the engine's cache, compute
/// context or forward() while this lives.
///
/// A fault of the loop itself (an exception out of a step, beside what rows and receivers throw) ends every
/// open request with on_error and the thread with it; health() says so from then on, and submit() fails with
/// kInternal. So do weights whose files have changed: open requests end with the error of
/// Engine::check_weights(), and nothing is saved or restored any more.
class EngineLoop final : public GenerationService {
 public:
  /// The engine and the clock outlive it. Throws std::system_error where the system gives no thread.
  EngineLoop(Engine& engine, const Clock& clock, const LoopOptions& options);
  /// stop(kCancel), then waits for the thread. Not from a receiver.
  ~EngineLoop() override;

  Result<Ticket> submit(ServiceRequest request, std::shared_ptr<GenerationSink> sink) override;
  void cancel(Ticket ticket) override;
  /// As of the end of the last step, or of the last end of a request in the running one: a receiver that has
  /// got its last event finds its request in them. Exact when nothing is open.
  ServiceStats stats() const override;
  /// As of the end of a step at most 20 ms before the last; exact when nothing is open.
  std::vector<RowInfo> rows() const override;
  Status health() const override;
  std::vector<TierReport> tiers() const override;
  /// kUnsupported without tiers that save, kCancelled when the loop has ended, what health() says.
  Result<FlushReport> flush(std::chrono::steady_clock::time_point deadline) override;

  /// Asks the loop to end and returns; submit() fails with kCancelled from now on. kCancel may follow kDrain.
  void stop(StopMode mode);
  /// Whether the loop has ended, after waiting for that at most so long (nothing: as long as it takes). Not
  /// from a receiver.
  bool wait_stopped(std::optional<std::chrono::milliseconds> timeout = std::nullopt);

 private:
  struct Mail {
    Ticket ticket{};
    ServiceRequest request;
    std::shared_ptr<GenerationSink> sink;
  };
  struct Inbox {
    std::vector<Mail> submitted;
    std::vector<Ticket> cancelled;
    std::optional<StopMode> stop;
    uint64_t flushes = 0;  ///< that were asked for so far
  };

  void run();
  bool run_once();
  Inbox receive();
  void publish();
  void publish_stats();
  bool is_quiet() const KVERN_REQUIRES(mutex_);
  void end(const Error* fault);

  const Engine& engine_;
  const Clock& clock_;
  const int64_t max_queue_;
  const std::vector<LoopTier> tiers_;
  mutable Mutex mutex_;
  std::condition_variable_any wake_;  // of the loop's thread
  std::condition_variable_any ended_signal_;
  std::condition_variable_any flushed_signal_;
  Inbox inbox_ KVERN_GUARDED_BY(mutex_);
  uint64_t next_ticket_ KVERN_GUARDED_BY(mutex_) = 1;
  int64_t waiting_ KVERN_GUARDED_BY(mutex_) = 0;  // in the batch, as of its last step
  bool idle_ KVERN_GUARDED_BY(mutex_) = true;
  std::optional<TimePoint> next_step_ KVERN_GUARDED_BY(mutex_);   // although it is idle
  uint64_t flushes_done_ KVERN_GUARDED_BY(mutex_) = 0;            // of inbox_.flushes
  std::vector<KeptTokens> to_be_saved_ KVERN_GUARDED_BY(mutex_);  // by these
  bool ended_ KVERN_GUARDED_BY(mutex_) = false;
  bool faulty_ KVERN_GUARDED_BY(mutex_) = false;
  ServiceStats stats_ KVERN_GUARDED_BY(mutex_);
  std::vector<RowInfo> rows_ KVERN_GUARDED_BY(mutex_);

  std::unique_ptr<Batch> batch_;  // the thread's, but for its checks
  TimePoint rows_published_;      // the thread's
  uint64_t flushes_begun_ = 0;    // the thread's
  std::thread thread_;
};

}  // namespace kvern::engine
