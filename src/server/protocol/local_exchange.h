// An Exchange without a network: for requests that come from the program itself (batch files, tests).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "server/http/exchange.h"

namespace kvern::server {

/// Collects the answer, of a stream the whole body. Thread-safe.
class LocalExchange : public Exchange {
 public:
  /// `done` is called once, on any thread: with the complete answer, or with status 0 when every reference is
  /// gone without one.
  LocalExchange(HttpRequest request, std::function<void(HttpResponse)> done);
  ~LocalExchange() override;

  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override;
  void start_stream(HttpResponse head) override;
  void write(std::string bytes) override;
  void end() override;
  void on_close(std::function<void()> callback) override;

  /// The client goes: what is made from now on is dropped, and `done` gets what was there.
  void close();

 private:
  void finish();

  const HttpRequest request_;
  Mutex mutex_;
  std::function<void(HttpResponse)> done_ KVERN_GUARDED_BY(mutex_);  // null once called
  HttpResponse response_ KVERN_GUARDED_BY(mutex_);
  bool closed_ KVERN_GUARDED_BY(mutex_) = false;
  std::vector<std::function<void()>> on_close_ KVERN_GUARDED_BY(mutex_);
};

}  // namespace kvern::server
