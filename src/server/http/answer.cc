#include "server/http/answer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "server/http/http_error.h"
#include "server/http/response_head.h"

namespace kvern::server {
namespace {

/// Small pieces are joined up to this size, so that a stream of events costs few system calls.
constexpr size_t kJoinBytes = size_t{16} << 10;

}  // namespace

Answer::Answer(HttpRequest request, AnswerOptions options, const Clock& clock,
               std::shared_ptr<std::atomic<int64_t>> queued_bytes)
    : request_(std::move(request)),
      clock_(clock),
      all_queued_bytes_(std::move(queued_bytes)),
      options_(std::move(options)) {}

Answer::~Answer() { *all_queued_bytes_ -= static_cast<int64_t>(queued_bytes_); }

void Answer::notify() {
  if (wake_) wake_();
}

void Answer::push(std::string bytes) {
  queued_bytes_ += bytes.size();
  *all_queued_bytes_ += static_cast<int64_t>(bytes.size());
  if (!queue_.empty() && queue_.back().size() + bytes.size() <= kJoinBytes) {
    queue_.back() += bytes;
  } else {
    queue_.push_back(std::move(bytes));
  }
}

void Answer::push_body(std::string_view bytes) {
  if (options_.head_only || bytes.empty()) return;
  push(options_.http_1_0 ? std::string(bytes) : chunk(bytes));
}

void Answer::drop_queue() {
  for (const std::string& piece : queue_) {
    queued_bytes_ -= piece.size();
    *all_queued_bytes_ -= static_cast<int64_t>(piece.size());
  }
  queue_.clear();
}

std::string Answer::head_of(const HttpResponse& response, std::optional<size_t> length) {
  report_.status = response.status;
  // In HTTP/1.0 the end of the connection is the end of a body of unknown length.
  if (options_.http_1_0 && !length) options_.keep_alive = false;
  return response_head(
      response, options_.extra_headers,
      {.content_length = length, .http_1_0 = options_.http_1_0, .keep_alive = options_.keep_alive},
      clock_.wall_now());
}

void Answer::finish() {
  phase_ = Phase::kEnded;
  idle_after_ = std::chrono::milliseconds{0};
  notify();
}

void Answer::begin_response(HttpResponse response) {
  push(head_of(response, response.body.size()));
  if (!options_.head_only && !response.body.empty()) push(std::move(response.body));
  finish();
}

void Answer::respond(HttpResponse response) {
  const MutexLock lock(mutex_);
  KVERN_DCHECK(phase_ == Phase::kOpen);
  if (phase_ != Phase::kOpen || closed_) return;
  begin_response(std::move(response));
}

void Answer::start_stream(HttpResponse head) {
  const MutexLock lock(mutex_);
  KVERN_DCHECK(phase_ == Phase::kOpen);
  if (phase_ != Phase::kOpen || closed_) return;
  push(head_of(head, std::nullopt));
  phase_ = Phase::kStreaming;
  idle_bytes_ = std::move(head.idle_bytes);
  idle_after_ = head.idle_after;
  push_body(head.body);
  notify();
}

void Answer::write(std::string_view bytes) {
  const MutexLock lock(mutex_);
  if (phase_ != Phase::kStreaming || closed_) return;
  push_body(bytes);
  if (queued_bytes_ > options_.max_queued_bytes) {
    // Told to the connection, which closes this answer: callbacks run there, not inside a maker's write.
    cut_ = true;
    closed_ = true;
    drop_queue();
    less_.notify_all();
  }
  notify();
}

size_t Answer::wait_for_room() {
  const MutexLock lock(mutex_);
  while (phase_ == Phase::kStreaming && !closed_ && queued_bytes_ > options_.max_queued_bytes / 2)
    less_.wait(mutex_);
  if (phase_ != Phase::kStreaming || closed_) return 0;
  // What a chunk takes beside its bytes is less than the rest.
  return std::max<size_t>(1, (options_.max_queued_bytes - queued_bytes_) / 2);
}

void Answer::end() {
  const MutexLock lock(mutex_);
  if (phase_ != Phase::kStreaming || closed_) return;
  if (!options_.head_only && !options_.http_1_0) push(std::string(kLastChunk));
  finish();
}

void Answer::abandon() {
  const MutexLock lock(mutex_);
  if (phase_ == Phase::kEnded || closed_) return;
  if (phase_ == Phase::kOpen) {
    begin_response(error_response({.status = 500, .message = "The server gave no answer."}));
    return;
  }
  cut_ = true;
  notify();
}

void Answer::on_close(std::function<void()> callback) {
  {
    const MutexLock lock(mutex_);
    if (phase_ == Phase::kEnded) return;
    if (!closed_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void Answer::attach(std::function<void()> wake) {
  const MutexLock lock(mutex_);
  wake_ = std::move(wake);
}

void Answer::close() {
  std::vector<std::function<void()>> callbacks;
  {
    const MutexLock lock(mutex_);
    wake_ = nullptr;
    if (taken_end_) return;
    closed_ = true;
    drop_queue();
    less_.notify_all();
    idle_after_ = std::chrono::milliseconds{0};
    callbacks.swap(callbacks_);
    if (phase_ == Phase::kEnded) return;  // The maker is done: nobody waits for news.
  }
  for (const auto& callback : callbacks) callback();
}

Answer::Output Answer::take() {
  std::vector<std::function<void()>> dropped;  // Destroyed outside the lock: they may own anything.
  const MutexLock lock(mutex_);
  Output output{.pieces = std::move(queue_), .ended = phase_ == Phase::kEnded, .cut = cut_};
  queue_.clear();
  if (output.ended) {
    taken_end_ = true;
    wake_ = nullptr;
    dropped.swap(callbacks_);
  }
  return output;
}

void Answer::sent(size_t bytes) {
  const MutexLock lock(mutex_);
  queued_bytes_ -= bytes;
  *all_queued_bytes_ -= static_cast<int64_t>(bytes);
  less_.notify_all();
  report_.bytes += bytes;
  report_.whole = taken_end_ && queued_bytes_ == 0;
}

bool Answer::keep_alive() const {
  const MutexLock lock(mutex_);
  return options_.keep_alive;
}

std::chrono::milliseconds Answer::idle_after() const {
  const MutexLock lock(mutex_);
  return phase_ == Phase::kStreaming && !closed_ ? idle_after_ : std::chrono::milliseconds{0};
}

void Answer::write_idle() {
  const MutexLock lock(mutex_);
  // A client that does not read what there is needs no sign of life.
  if (phase_ != Phase::kStreaming || closed_ || queued_bytes_ > 0) return;
  push_body(idle_bytes_);
  notify();
}

bool Answer::is_closed() const {
  const MutexLock lock(mutex_);
  return closed_;
}

bool Answer::is_cut() const {
  const MutexLock lock(mutex_);
  return cut_;
}

AnswerReport Answer::report() const {
  const MutexLock lock(mutex_);
  return report_;
}

}  // namespace kvern::server
