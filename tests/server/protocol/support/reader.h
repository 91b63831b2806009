// A client that reads an answer as it comes, and can go away.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "server/http/exchange.h"

namespace kvern::server::test {

/// Thread-safe.
class Reader : public Exchange {
 public:
  explicit Reader(HttpRequest request) : request_(std::move(request)) {}

  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override {
    const MutexLock lock(mutex_);
    answer_ = std::move(response);
    ended_ = true;
  }
  void start_stream(HttpResponse head) override {
    const MutexLock lock(mutex_);
    answer_ = std::move(head);
  }
  void write(std::string bytes) override {
    const MutexLock lock(mutex_);
    if (!gone_) body_ += bytes;
  }
  void end() override {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  void on_close(std::function<void()> callback) override {
    const MutexLock lock(mutex_);
    callbacks_.push_back(std::move(callback));
  }

  /// The client goes.
  void leave() {
    std::vector<std::function<void()>> callbacks;
    {
      const MutexLock lock(mutex_);
      gone_ = true;
      callbacks = std::move(callbacks_);
    }
    for (const auto& callback : callbacks) callback();
  }

  /// The stream so far, or the body of the answer.
  std::string body() const {
    const MutexLock lock(mutex_);
    return answer_ && body_.empty() ? answer_->body : body_;
  }
  int status() const {
    const MutexLock lock(mutex_);
    return answer_ ? answer_->status : 0;
  }
  bool ended() const {
    const MutexLock lock(mutex_);
    return ended_;
  }

 private:
  const HttpRequest request_;
  mutable Mutex mutex_;
  std::optional<HttpResponse> answer_ KVERN_GUARDED_BY(mutex_);
  std::string body_ KVERN_GUARDED_BY(mutex_);
  bool ended_ KVERN_GUARDED_BY(mutex_) = false;
  bool gone_ KVERN_GUARDED_BY(mutex_) = false;
  std::vector<std::function<void()>> callbacks_ KVERN_GUARDED_BY(mutex_);
};

}  // namespace kvern::server::test
