// A GenerationService without a model: it plays what a test says.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/request/generation_service.h"
#include "text/tokenizer.h"

namespace kvern::server::test {

/// What one choice is to say.
struct ScriptedChoice {
  std::string text;
  engine::FinishReason reason = engine::FinishReason::kStop;
  /// As many bytes at the end of the text come with the end, as if held back for a stop string.
  size_t held_back = 0;
  std::optional<std::string> stop_string = {};  ///< the one that ended it
};

/// Thread-safe.
class ScriptedService : public engine::GenerationService {
 public:
  /// Called by submit() with what was asked for and its sink, on the submitting thread.
  using Play = std::function<void(const engine::ServiceRequest&, engine::GenerationSink&)>;

  explicit ScriptedService(Play play) : play_(std::move(play)) {}
  void play(Play play) { play_ = std::move(play); }
  /// The next submits fail with this.
  void refuse(std::optional<Error> error) { refusal_ = std::move(error); }

  Result<engine::Ticket> submit(engine::ServiceRequest request,
                                std::shared_ptr<engine::GenerationSink> sink) override;
  void cancel(engine::Ticket ticket) override;
  engine::ServiceStats stats() const override { return stats_; }
  std::vector<engine::RowInfo> rows() const override { return rows_; }
  Result<engine::FlushReport> flush(std::chrono::steady_clock::time_point deadline) override {
    return flush_ ? flush_(deadline) : GenerationService::flush(deadline);
  }
  using Flush = std::function<Result<engine::FlushReport>(std::chrono::steady_clock::time_point)>;
  void flush_with(Flush flush) { flush_ = std::move(flush); }
  /// What stats() and rows() say. Not while others use the service.
  void show(engine::ServiceStats stats, std::vector<engine::RowInfo> rows) {
    stats_ = stats;
    rows_ = std::move(rows);
  }

  /// What was submitted and cancelled, in order.
  std::vector<engine::ServiceRequest> requests() const;
  std::vector<engine::Ticket> cancelled() const;
  /// The sink of the latest request that was not played to its end; for tests that play by hand.
  std::shared_ptr<engine::GenerationSink> last_sink() const;

 private:
  Play play_;
  Flush flush_;
  engine::ServiceStats stats_;
  std::vector<engine::RowInfo> rows_;
  std::optional<Error> refusal_;
  mutable Mutex mutex_;
  std::vector<engine::ServiceRequest> requests_ KVERN_GUARDED_BY(mutex_);
  std::vector<engine::Ticket> cancelled_ KVERN_GUARDED_BY(mutex_);
  std::shared_ptr<engine::GenerationSink> last_sink_ KVERN_GUARDED_BY(mutex_);
};

/// Says the choices token by token, one token of each in turn, with the tokenizer's tokens and
/// log-probabilities if they are wanted; then ends. Missing choices repeat the last one.
ScriptedService::Play say(const text::Tokenizer& tokenizer, std::vector<ScriptedChoice> choices);

}  // namespace kvern::server::test
