// A server on a free port of loopback, with an application that a test fills with routes.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/http/http_error.h"
#include "server/http/http_server.h"
#include "server/http/raw_client.h"
#include "server/http/router.h"

namespace kvern::test {

/// Something that one thread says and another waits for, at most 20 s.
class Signal {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return set_; });
  }
  bool is_set() {
    const std::lock_guard lock(mutex_);
    return set_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

/// Routes only; remembers what was recorded.
class TestApplication : public server::HttpApplication {
 public:
  server::Router router;

  server::HttpDecision decide(server::HttpRequest& request,
                              const std::vector<std::string>& segments) override {
    server::Router::Match match = router.find(request.method, segments);
    server::HttpDecision decision;
    if (match.route == nullptr) {
      decision.answer = server::error_response({.status = 404, .message = "nothing here"});
      return decision;
    }
    request.path_values = std::move(match.path_values);
    decision.handler = match.route->handler;
    decision.route = match.route->pattern;
    decision.max_body_bytes = match.route->options.max_body_bytes;
    return decision;
  }

  void finished(const server::HttpRecord& record) override {
    const std::lock_guard lock(mutex_);
    records_.push_back(record);
    changed_.notify_all();
  }

  /// Waits for the record of the n-th request, counted from 0.
  server::HttpRecord record(size_t n) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return records_.size() > n; });
    return records_.at(n);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<server::HttpRecord> records_;
};

class HttpServerTest : public testing::Test {
 protected:
  /// Routes must be there before.
  void start() {
    if (options.listen.empty()) options.listen = {{.host = "127.0.0.1", .port = 0}};
    auto started =
        server::HttpServer::start(options, {.application = application, .clock = *clock, .log = null_log()});
    ASSERT_TRUE(started.has_value()) << started.error().to_string();
    http = *std::move(started);
  }
  uint16_t port() const { return http->addresses().front().port; }
  RawClient connect() const { return RawClient(port()); }

  void route(const std::string& method, const std::string& pattern, server::Handler handler,
             server::RouteOptions route_options = {}) {
    application.router.add(method, pattern, std::move(handler), route_options);
  }
  /// Answers with this text.
  void route_text(const std::string& pattern, const std::string& text) {
    route("GET", pattern, [text](std::shared_ptr<server::Exchange> exchange) {
      exchange->respond({.content_type = "text/plain", .body = text});
    });
  }
  /// Answers with the body that came.
  void route_echo(const std::string& pattern, server::RouteOptions route_options = {}) {
    route(
        "POST", pattern,
        [](std::shared_ptr<server::Exchange> exchange) {
          exchange->respond({.content_type = "text/plain", .body = exchange->request().body});
        },
        route_options);
  }

  const std::unique_ptr<Clock> clock = make_system_clock();
  server::HttpServerOptions options;
  TestApplication application;
  std::unique_ptr<server::HttpServer> http;
};

inline std::string get(const std::string& path, const std::string& headers = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: test\r\n" + headers + "\r\n";
}

inline std::string post(const std::string& path, const std::string& body, const std::string& headers = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: test\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace kvern::test
