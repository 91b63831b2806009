// One request's answer between the threads that make it and the connection that sends it. No sockets.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "server/http/exchange.h"

namespace kvern::server {

struct AnswerOptions {
  HttpHeaders extra_headers;  ///< for the answer, whatever it is
  size_t max_queued_bytes = SIZE_MAX;
  bool http_1_0 = false;
  bool keep_alive = true;
  bool head_only = false;  ///< the request's method is HEAD
};

/// What the transport knows when an answer is over: for logs and metrics.
struct AnswerReport {
  int status = 0;      ///< 0: the client went before there was one
  bool whole = false;  ///< all of it was sent
  uint64_t bytes = 0;  ///< handed to the network, headers included
};

/// The makers' side is an Exchange (HttpExchange below), thread-safe. The connection's side is used by one
/// thread at a time. `wake` is called by makers, under the answer's lock, when there is something to take: it
/// must only post. The clock outlives the answer.
class Answer {
 public:
  Answer(HttpRequest request, AnswerOptions options, const Clock& clock,
         std::shared_ptr<std::atomic<int64_t>> queued_bytes);
  ~Answer();
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  // Makers' side.
  const HttpRequest& request() const { return request_; }
  void respond(HttpResponse response);
  void start_stream(HttpResponse head);
  void write(std::string_view bytes);
  void end();
  size_t wait_for_room();
  void on_close(std::function<void()> callback);
  /// Nobody will answer any more: 500 if nothing was sent, else the answer stays cut.
  void abandon();

  // The connection's side.
  void attach(std::function<void()> wake);
  /// The client has gone, or is cut off: callbacks are called, whatever is made from now on is dropped. Also
  /// detaches. Does nothing after the end was taken.
  void close();

  struct Output {
    std::deque<std::string> pieces;
    bool ended = false;  ///< these are the last
    bool cut = false;    ///< too much was queued, or the answer was abandoned half-way: close at once
  };
  /// Everything that is queued. With `ended`, the answer is detached.
  Output take();
  /// `bytes` of what was taken are with the network now.
  void sent(size_t bytes);
  /// Whether the connection may serve another request behind this one.
  bool keep_alive() const;
  /// What to write when nothing else was for so long; zero: nothing, ever.
  std::chrono::milliseconds idle_after() const;
  void write_idle();
  bool is_closed() const;
  /// Whether take() would say `cut`: to be asked while a write is under way.
  bool is_cut() const;
  AnswerReport report() const;

 private:
  enum class Phase : uint8_t { kOpen, kStreaming, kEnded };

  void push(std::string bytes) KVERN_REQUIRES(mutex_);
  void push_body(std::string_view bytes) KVERN_REQUIRES(mutex_);
  void finish() KVERN_REQUIRES(mutex_);
  void notify() KVERN_REQUIRES(mutex_);
  void begin_response(HttpResponse response) KVERN_REQUIRES(mutex_);
  std::string head_of(const HttpResponse& response, std::optional<size_t> length) KVERN_REQUIRES(mutex_);
  void drop_queue() KVERN_REQUIRES(mutex_);

  const HttpRequest request_;
  const Clock& clock_;
  const std::shared_ptr<std::atomic<int64_t>> all_queued_bytes_;

  mutable Mutex mutex_;
  std::condition_variable_any less_;  // is queued, or nobody reads any more
  AnswerOptions options_ KVERN_GUARDED_BY(mutex_);
  Phase phase_ KVERN_GUARDED_BY(mutex_) = Phase::kOpen;
  bool closed_ KVERN_GUARDED_BY(mutex_) = false;  // what is made is dropped
  bool cut_ KVERN_GUARDED_BY(mutex_) = false;
  bool taken_end_ KVERN_GUARDED_BY(mutex_) = false;
  std::deque<std::string> queue_ KVERN_GUARDED_BY(mutex_);
  size_t queued_bytes_ KVERN_GUARDED_BY(mutex_) = 0;  // in queue_, and taken but not sent
  std::function<void()> wake_ KVERN_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> callbacks_ KVERN_GUARDED_BY(mutex_);
  std::string idle_bytes_ KVERN_GUARDED_BY(mutex_);
  std::chrono::milliseconds idle_after_ KVERN_GUARDED_BY(mutex_){0};
  AnswerReport report_ KVERN_GUARDED_BY(mutex_);
};

/// What handlers hold. The last one to be destroyed abandons the answer if it has not ended.
class HttpExchange : public Exchange {
 public:
  explicit HttpExchange(std::shared_ptr<Answer> answer) : answer_(std::move(answer)) {}
  ~HttpExchange() override { answer_->abandon(); }
  const HttpRequest& request() const override { return answer_->request(); }
  void respond(HttpResponse response) override { answer_->respond(std::move(response)); }
  void start_stream(HttpResponse head) override { answer_->start_stream(std::move(head)); }
  void write(std::string bytes) override { answer_->write(bytes); }
  void end() override { answer_->end(); }
  size_t wait_for_room() override { return answer_->wait_for_room(); }
  void on_close(std::function<void()> callback) override { answer_->on_close(std::move(callback)); }

 private:
  std::shared_ptr<Answer> answer_;
};

}  // namespace kvern::server
