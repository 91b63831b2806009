// The HTTP/1.1 server: listens, reads requests, has them answered by an application. docs/server.md says
// which thread does what.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "server/http/http_application.h"
#include "server/http/http_options.h"
#include "server/http/worker_pool.h"

namespace kvern::server {

struct HttpServerStats {
  uint64_t accepted = 0;     ///< connections since the start
  uint64_t overloaded = 0;   ///< of these, those that were one too many
  int64_t connections = 0;   ///< now
  int64_t requests = 0;      ///< being read or answered now
  int64_t queued_bytes = 0;  ///< of answers, not yet sent
  int64_t waiting_handlers = 0;
};

/// Thread-safe.
class HttpServer {
 public:
  /// What the server uses; outlives it.
  struct Parts {
    HttpApplication& application;
    const Clock& clock;
    LogSink& log;
  };
  /// Listens when it returns. Errors name the address and say what to do (in use, no permission, not this
  /// machine's), or what is wrong with the certificate.
  static Result<std::unique_ptr<HttpServer>> start(const HttpServerOptions& options, const Parts& parts);
  /// Closes all connections: answers that are being made are cut.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Where it listens, with the ports that were chosen.
  std::vector<ListenAddress> addresses() const;
  HttpServerStats stats() const;
  /// The threads that run handlers, for work that continues them.
  WorkerPool& workers();

  /// No new connections; those that are idle are closed, others after the answer that is being made.
  void stop_accepting();
  /// Whether all connections have ended within that time.
  bool wait_until_idle(std::chrono::milliseconds timeout);

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Finds out whether the addresses exist here and are free, and the certificate can be used; serves nothing.
Status check_http_options(const HttpServerOptions& options);

}  // namespace kvern::server
