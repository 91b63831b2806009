// The program that the transport serves: who may ask for what, and in which state the server is.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/request/generation_service.h"
#include "server/app/cors.h"
#include "server/app/request_log.h"
#include "server/auth/api_keys.h"
#include "server/http/http_application.h"
#include "server/http/http_error.h"
#include "server/http/http_server.h"
#include "server/http/router.h"
#include "server/metrics/metrics.h"

namespace kvern::server {

struct AppOptions {
  std::string version;  ///< as /version says it
  std::vector<std::string> cors_origins;
  bool open_metrics = false;  ///< /metrics needs no key
};

/// Answers /health, /version and /metrics from the beginning, everything else with 503 until serve(), and
/// again once the service is not healthy any more. Thread-safe.
class App : public HttpApplication {
 public:
  /// They outlive it.
  struct Parts {
    const ApiKeys& keys;
    Metrics& metrics;
    RequestLog& log;
  };
  App(AppOptions options, const Parts& parts);

  HttpDecision decide(HttpRequest& request, const std::vector<std::string>& segments) override;
  void finished(const HttpRecord& record) override;

  /// From now on these routes answer. Both outlive the server's connections.
  void serve(const Router& routes, const engine::GenerationService& service);
  /// The model could not be loaded: /health and all routes say so.
  void fail(std::string message);
  /// /health says 503, so that balancers turn away; requests are still answered.
  void begin_shutdown();
  /// Adds the transport's own numbers to the metrics. It outlives everybody who reads them.
  void observe(const HttpServer& server);

  /// The answer of /health.
  HttpResponse health() const;

 private:
  enum class Phase : uint8_t { kLoading, kServing, kStopping, kFailed };
  struct State {
    Phase phase = Phase::kLoading;
    const Router* routes = nullptr;
    const engine::GenerationService* service = nullptr;
    std::string failure;
  };
  /// Why nothing is answered, and when to ask again; without a message all is well.
  struct Trouble {
    ApiError error;
    std::chrono::seconds retry_after{0};
  };
  State state() const;
  /// Why requests are not answered.
  static std::optional<Trouble> obstacle(const State& now);
  /// Why nobody should begin to ask.
  static std::optional<Trouble> trouble(const State& now);
  std::optional<HttpResponse> check_key(HttpRequest& request, const RouteOptions& options) const;
  void add_own_routes();
  void count(const HttpRecord& record);

  const AppOptions options_;
  const Parts parts_;
  const CorsPolicy cors_;
  Router own_routes_;
  Histogram& durations_;
  Counter& sent_bytes_;
  mutable Mutex mutex_;
  State state_ KVERN_GUARDED_BY(mutex_);
};

}  // namespace kvern::server
