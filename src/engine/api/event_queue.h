// Events of one request between the loop's thread, which makes them, and the one that reads them.
#pragma once

#include <condition_variable>
#include <deque>
#include <optional>

#include "base/mutex.h"
#include "base/result.h"
#include "engine/request/generation_service.h"
#include "kvern/engine.h"

namespace kvern::engine {

/// Thread-safe. Grows with what nobody has read: at most all events of one request.
class EventQueue final : public GenerationSink {
 public:
  void on_prompt(const PromptProgress& progress) override;
  void on_token(TokenEvent event) override;
  void on_choice_end(ChoiceEnd end) override;
  void on_end(const RequestEnd& end) override;
  void on_error(const Error& error) override;

  /// Waits for an event; nothing behind the last. The error of the request is given again and again.
  Result<std::optional<Event>> next();
  /// Whether next() would not wait.
  bool ready() const;
  /// Whether the last event is there, read or not.
  bool over() const;

 private:
  void push(Event event);

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Event> events_ KVERN_GUARDED_BY(mutex_);
  std::optional<Error> error_ KVERN_GUARDED_BY(mutex_);
  bool over_ KVERN_GUARDED_BY(mutex_) = false;
};

}  // namespace kvern::engine
