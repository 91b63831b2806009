// Carries the events of one API request from the loop's thread to the threads that answer it.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "engine/request/generation_service.h"
#include "server/protocol/context.h"

namespace kvern::server {

class GenerationRun;

/// Makes the events of a request into an answer. Called on the executor's threads, one call after the other:
/// needs no lock. A request may have several parts (one for each prompt). What it throws ends the request.
class GenerationHandler {
 public:
  virtual ~GenerationHandler() = default;
  /// Before all else, once every part was accepted. The run lives as long as the handler.
  virtual void on_start(GenerationRun& run) { static_cast<void>(run); }
  virtual void on_prompt(size_t part, const engine::PromptProgress& progress) {
    static_cast<void>(part);
    static_cast<void>(progress);
  }
  virtual void on_token(size_t part, engine::TokenEvent event) = 0;
  virtual void on_choice_end(size_t part, engine::ChoiceEnd end) = 0;
  /// All parts have ended. Nothing follows.
  virtual void on_end(const std::vector<engine::RequestEnd>& ends) = 0;
  /// One part failed; the others are cancelled. Nothing follows.
  virtual void on_error(const Error& error) = 0;
  /// It has thrown, and is destroyed after this, which must not throw.
  virtual void on_fault() {}
};

/// Thread-safe. Kept alive by the service until the last event, and by whoever holds it.
class GenerationRun : public std::enable_shared_from_this<GenerationRun> {
 public:
  /// Submits every part on behalf of the exchange. When one is refused, those before it are cancelled, and
  /// the handler is destroyed without having been called. Cancelled when the client goes.
  static Result<std::shared_ptr<GenerationRun>> start(const ProtocolContext& context, Exchange& exchange,
                                                      std::vector<engine::ServiceRequest> parts,
                                                      std::unique_ptr<GenerationHandler> handler);
  /// The same with a context that lives as long as this does.
  static Result<std::shared_ptr<GenerationRun>> start(std::shared_ptr<const ProtocolContext> context,
                                                      Exchange& exchange,
                                                      std::vector<engine::ServiceRequest> parts,
                                                      std::unique_ptr<GenerationHandler> handler);
  /// Ends every part; the handler still gets their ends.
  void cancel();

 private:
  struct Event {
    size_t part = 0;
    std::variant<engine::PromptProgress, engine::TokenEvent, engine::ChoiceEnd, engine::RequestEnd, Error>
        what;
  };
  class PartSink;

  GenerationRun(std::shared_ptr<const ProtocolContext> context, size_t parts,
                std::unique_ptr<GenerationHandler> handler);
  void push(Event event);
  void open();
  void drain();
  void handle(Event event);
  void fail_run(const Error& error);

  const std::shared_ptr<const ProtocolContext> context_;
  Mutex mutex_;
  std::deque<Event> queue_ KVERN_GUARDED_BY(mutex_);
  bool open_ KVERN_GUARDED_BY(mutex_) = false;      // all parts were accepted: events may be handled
  bool draining_ KVERN_GUARDED_BY(mutex_) = false;  // a task runs, or is queued, that handles events
  bool refused_ KVERN_GUARDED_BY(mutex_) = false;
  std::vector<engine::Ticket> tickets_ KVERN_GUARDED_BY(mutex_);

  // Only in start() and, then, in the one draining task.
  std::unique_ptr<GenerationHandler> handler_;
  std::vector<engine::RequestEnd> ends_;
  size_t ended_ = 0;
  bool started_ = false;
};

}  // namespace kvern::server
