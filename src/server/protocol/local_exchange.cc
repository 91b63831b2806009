#include "server/protocol/local_exchange.h"

#include <utility>

namespace kvern::server {

LocalExchange::LocalExchange(HttpRequest request, std::function<void(HttpResponse)> done)
    : request_(std::move(request)), done_(std::move(done)) {
  response_.status = 0;
}

LocalExchange::~LocalExchange() { finish(); }

void LocalExchange::respond(HttpResponse response) {
  {
    const MutexLock lock(mutex_);
    if (!done_) return;
    response_ = std::move(response);
  }
  finish();
}

void LocalExchange::start_stream(HttpResponse head) {
  const MutexLock lock(mutex_);
  if (done_) response_ = std::move(head);
}

void LocalExchange::write(std::string bytes) {
  const MutexLock lock(mutex_);
  if (done_) response_.body += bytes;
}

void LocalExchange::end() { finish(); }

void LocalExchange::on_close(std::function<void()> callback) {
  {
    const MutexLock lock(mutex_);
    if (!closed_) {
      if (done_) on_close_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void LocalExchange::close() {
  std::vector<std::function<void()>> callbacks;
  {
    const MutexLock lock(mutex_);
    if (!done_) return;
    closed_ = true;
    callbacks = std::move(on_close_);
  }
  for (const auto& callback : callbacks) callback();
  finish();
}

void LocalExchange::finish() {
  std::function<void(HttpResponse)> done;
  HttpResponse response;
  {
    const MutexLock lock(mutex_);
    if (!done_) return;
    done = std::exchange(done_, nullptr);
    response = std::move(response_);
    on_close_.clear();
  }
  done(std::move(response));
}

}  // namespace kvern::server
