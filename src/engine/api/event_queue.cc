#include "engine/api/event_queue.h"

#include <string>
#include <utility>

namespace kvern::engine {

void EventQueue::push(Event event) {
  const MutexLock lock(mutex_);
  over_ = event.kind == EventKind::kEnd;
  events_.push_back(std::move(event));
  changed_.notify_all();
}

void EventQueue::on_prompt(const PromptProgress& progress) {
  push({.kind = EventKind::kPrompt,
        .usage = {.prompt_tokens = progress.total,
                  .cached_tokens = progress.cached,
                  .computed_tokens = progress.computed}});
}

void EventQueue::on_token(TokenEvent event) {
  Event made{
      .kind = EventKind::kToken, .choice = event.choice, .text = std::move(event.text), .token = event.token};
  if (event.logprobs) {
    made.logprob = event.logprobs->logprob;
    for (const TokenLogprob& likely : event.logprobs->top) {
      made.top.push_back({.token = likely.token, .logprob = likely.logprob});
    }
  }
  push(std::move(made));
}

void EventQueue::on_choice_end(ChoiceEnd end) {
  push({.kind = EventKind::kChoiceEnd,
        .choice = end.choice,
        .text = std::move(end.text),
        .finish_reason = std::string(to_string(end.reason)),
        .stop_string = std::move(end.stop_string).value_or("")});
}

void EventQueue::on_end(const RequestEnd& end) {
  push({.kind = EventKind::kEnd,
        .usage = {.prompt_tokens = end.prompt_tokens,
                  .cached_tokens = end.cached_tokens,
                  .computed_tokens = end.prompt_tokens - end.cached_tokens,
                  .generated_tokens = end.generated_tokens,
                  .queue_ms = end.queue_ms,
                  .prefill_ms = end.prefill_ms,
                  .decode_ms = end.decode_ms}});
}

void EventQueue::on_error(const Error& error) {
  const MutexLock lock(mutex_);
  error_ = error;
  over_ = true;
  changed_.notify_all();
}

Result<std::optional<Event>> EventQueue::next() {
  const MutexLock lock(mutex_);
  while (events_.empty() && !over_) changed_.wait(mutex_);
  if (!events_.empty()) {
    std::optional<Event> event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  if (error_) return std::unexpected(*error_);
  return std::optional<Event>();
}

bool EventQueue::ready() const {
  const MutexLock lock(mutex_);
  return !events_.empty() || over_;
}

bool EventQueue::over() const {
  const MutexLock lock(mutex_);
  return over_;
}

}  // namespace kvern::engine
