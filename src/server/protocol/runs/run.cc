#include "server/protocol/runs/run.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "server/http/http_error.h"

namespace kvern::server {

using TimePoint = std::chrono::steady_clock::time_point;

Run::Run(HttpRequest request, RunFacts facts, std::unique_ptr<RunScope> scope,
         std::function<void(const std::shared_ptr<Run>&)> over)
    : request_(std::move(request)),
      facts_(std::move(facts)),
      scope_(std::move(scope)),
      over_callback_(std::move(over)) {
  // Until the first reader comes: after a restart, it may never come.
  if (scope_ != nullptr && !facts_.background) lost_ = scope_->created.now();
}

void Run::respond(HttpResponse response) {
  {
    const MutexLock lock(mutex_);
    if (deaf()) return;
    answer_ = std::move(response);
  }
  finish();
}

void Run::start_stream(HttpResponse head) {
  const MutexLock lock(mutex_);
  if (deaf()) return;
  head_ = std::move(head);
  pump();
}

void Run::write(std::string bytes) {
  const MutexLock lock(mutex_);
  if (deaf() || !shown_) return;
  for (const Follower& follower : followers_) {
    if (follower.begun) follower.reader->write(bytes);
  }
}

void Run::write_event(uint64_t number, std::string event) {
  const MutexLock lock(mutex_);
  if (deaf()) return;
  KVERN_CHECK(number == events_.size());
  events_.push_back(fmt::format("id: {}\n{}", number, event));
  event_bytes_ += events_.back().size();
  pump();
}

void Run::end() { finish(); }

void Run::abandon() {
  {
    const MutexLock lock(mutex_);
    if (deaf()) return;
    if (!head_) answer_ = error_response({.status = 500, .message = "The server gave no answer."});
  }
  finish();
}

void Run::on_close(std::function<void()> callback) {
  {
    const MutexLock lock(mutex_);
    if (over_) return;
    if (!closed_) {
      close_callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void Run::set_body(std::string body) {
  const MutexLock lock(mutex_);
  if (!deaf()) body_ = std::move(body);
}

void Run::set_outcome(RunOutcome outcome) {
  const MutexLock lock(mutex_);
  if (!deaf()) outcome_ = std::move(outcome);
}

void Run::finish() {
  std::vector<std::function<void()>> callbacks;
  {
    const MutexLock lock(mutex_);
    if (deaf()) return;
    over_ = true;
    close_callbacks_.clear();
    callbacks = std::move(over_callbacks_);
  }
  // It is where it is looked for before its readers know that it is over.
  over_callback_(shared_from_this());
  {
    const MutexLock lock(mutex_);
    pump();
  }
  for (const auto& callback : callbacks) callback();
}

// Whether there is nothing more to come.
bool Run::pump(Follower& follower) {
  if (!head_) {
    if (!over_) return false;
    if (answer_) follower.reader->respond(*answer_);
    return true;
  }
  if (!std::exchange(follower.begun, true)) follower.reader->start_stream(*head_);
  while (follower.next < events_.size()) follower.reader->write(events_[follower.next++]);
  if (over_) follower.reader->end();
  return over_;
}

void Run::pump() {
  if (!shown_ || suspended_) return;
  std::erase_if(followers_, [this](Follower& follower) KVERN_REQUIRES(mutex_) { return pump(follower); });
}

Status Run::follow(const std::shared_ptr<Exchange>& reader, std::optional<uint64_t> after) {
  {
    const MutexLock lock(mutex_);
    // A reader may have got events of a former process that are not made again yet.
    const bool may_come = !over_ && scope_->resumed;
    if (after && *after >= events_.size() && !may_come) {
      return fail(ErrorCode::kInvalidArgument,
                  events_.empty() ? "there is no event yet"
                                  : fmt::format("the last event so far is {}", events_.size() - 1));
    }
    lost_.reset();
    followers_.push_back({.reader = reader, .next = after ? static_cast<size_t>(*after) + 1 : 0});
    pump();
  }
  reader->on_close([weak = weak_from_this(), gone = reader.get()] {
    if (const auto run = weak.lock()) run->leave(gone);
  });
  return Ok{};
}

void Run::leave(const Exchange* reader) {
  Followers gone;  // released behind the lock
  const MutexLock lock(mutex_);
  for (auto it = followers_.begin(); it != followers_.end(); ++it) {
    if (it->reader.get() != reader) continue;
    gone.splice(gone.end(), followers_, it);
    break;
  }
  if (followers_.empty() && !over_ && !facts_.background) lost_ = scope_->created.now();
}

std::string Run::body() const {
  const MutexLock lock(mutex_);
  return body_;
}

RunOutcome Run::outcome() const {
  const MutexLock lock(mutex_);
  return outcome_;
}

void Run::when_shown(std::function<void()> callback) {
  {
    const MutexLock lock(mutex_);
    if (!shown_) {
      shown_callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void Run::when_over(std::function<void()> callback) {
  {
    const MutexLock lock(mutex_);
    if (!over_) {
      over_callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void Run::show() {
  std::vector<std::function<void()>> callbacks;
  {
    const MutexLock lock(mutex_);
    shown_ = true;
    callbacks = std::move(shown_callbacks_);
    pump();
  }
  for (const auto& callback : callbacks) callback();
}

void Run::end_generation() {
  std::vector<std::function<void()>> callbacks;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    callbacks = std::move(close_callbacks_);
  }
  for (const auto& callback : callbacks) callback();
}

void Run::cancel() {
  {
    const MutexLock lock(mutex_);
    cancelled_ = true;
  }
  end_generation();
}

bool Run::was_cancelled() const {
  const MutexLock lock(mutex_);
  return cancelled_;
}

void Run::give_up() {
  {
    const MutexLock lock(mutex_);
    lost_.reset();
  }
  end_generation();
}

bool Run::discard() {
  bool running = false;
  {
    const MutexLock lock(mutex_);
    discarded_ = true;
    running = !over_;
  }
  if (running) cancel();
  return running;
}

bool Run::is_discarded() const {
  const MutexLock lock(mutex_);
  return discarded_;
}

void Run::suspend() {
  Followers gone;  // released behind the lock
  const MutexLock lock(mutex_);
  if (over_) return;
  suspended_ = true;
  gone = std::move(followers_);
  followers_.clear();
}

bool Run::is_suspended() const {
  const MutexLock lock(mutex_);
  return suspended_;
}

std::optional<TimePoint> Run::lost_since() const {
  const MutexLock lock(mutex_);
  return lost_;
}

bool Run::is_over() const {
  const MutexLock lock(mutex_);
  return over_;
}

std::string Run::events() const {
  const MutexLock lock(mutex_);
  std::string all;
  all.reserve(event_bytes_);
  for (const std::string& event : events_) all += event;
  return all;
}

size_t Run::bytes() const {
  const MutexLock lock(mutex_);
  return event_bytes_ + events_.size() * sizeof(std::string) + body_.size() + outcome_.body.size() +
         outcome_.input.size();
}

void Run::restore(HttpResponse head, std::string_view events, RunOutcome outcome) {
  const MutexLock lock(mutex_);
  head_ = std::move(head);
  while (!events.empty()) {
    const size_t end = events.find("\n\n");
    const size_t size = end == std::string_view::npos ? events.size() : end + 2;
    events_.emplace_back(events.substr(0, size));
    event_bytes_ += size;
    events.remove_prefix(size);
  }
  body_ = outcome.body;
  outcome_ = std::move(outcome);
  shown_ = over_ = true;
}

}  // namespace kvern::server
