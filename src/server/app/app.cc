#include "server/app/app.h"

#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "server/http/http_error.h"
#include "server/metrics/process_stats.h"
#include "server/metrics/service_metrics.h"
#include "server/protocol/error_style.h"
#include "server/protocol/request_errors.h"

namespace kvern::server {
namespace {

constexpr std::string_view kHealth = "/health";

const std::vector<double> kDurationBounds = {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800};

HttpResponse unavailable(const ApiError& error, std::chrono::seconds retry_after, ErrorAnswer error_answer) {
  HttpResponse response = error_answer(error);
  std::erase_if(response.headers, [](const auto& header) { return header.first == "Retry-After"; });
  response.headers.emplace_back("Retry-After", std::to_string(retry_after.count()));
  return response;
}

ApiError unavailable_error(std::string message) {
  return {.status = 503, .message = std::move(message), .type = "unavailable_error"};
}

HttpResponse no_such_route(const HttpRequest& request, const std::vector<std::string>& allowed,
                           ErrorAnswer error_answer) {
  const std::string path = request.path.substr(0, 200);
  if (allowed.empty()) {
    return error_answer({.status = 404,
                         .message = fmt::format("There is no {} here.", path),
                         .type = "invalid_request_error",
                         .code = "unknown_url"});
  }
  std::string list;
  for (const std::string& method : allowed) list += (list.empty() ? "" : ", ") + method;
  HttpResponse response = request.method == "OPTIONS"
                              ? HttpResponse{.status = 204}
                              : error_answer({.status = 405,
                                              .message = fmt::format("{} takes {}, not {}.", path, list,
                                                                     request.method.substr(0, 20)),
                                              .type = "invalid_request_error",
                                              .code = "method_not_allowed"});
  response.headers.emplace_back("Allow", list);
  return response;
}

}  // namespace

App::App(AppOptions options, const Parts& parts)
    : options_(std::move(options)),
      parts_(parts),
      cors_(options_.cors_origins),
      durations_(parts.metrics.histogram("kvern_http_request_duration_seconds",
                                         "From the first byte of a request to the last of its answer.",
                                         kDurationBounds)),
      sent_bytes_(parts.metrics.counter("kvern_http_sent_bytes_total", "Bytes of answers.")) {
  add_own_routes();
  parts.metrics.collect([](MetricsText& out) { write_process_stats(out); });
  parts.metrics.collect([this](MetricsText& out) {
    if (const State now = state(); now.service != nullptr) {
      write_service_stats(now.service->stats(), out);
      write_tier_reports(now.service->tiers(), out);
    }
  });
}

void App::add_own_routes() {
  own_routes_.add("GET", kHealth, nullptr, {.access = RouteAccess::kOpen});
  own_routes_.add("GET", "/version",
                  [body = to_json(json::object{{"version", options_.version}})](
                      std::shared_ptr<Exchange> exchange) { exchange->respond({.body = body}); },
                  {.access = RouteAccess::kOpen});
  own_routes_.add(
      "GET", "/metrics",
      [this](std::shared_ptr<Exchange> exchange) {
        exchange->respond({.content_type = std::string(kMetricsContentType), .body = parts_.metrics.text()});
      },
      {.access = RouteAccess::kMetrics});
}

App::State App::state() const {
  const MutexLock lock(mutex_);
  return state_;
}

std::optional<App::Trouble> App::obstacle(const State& now) {
  using std::chrono::seconds;
  if (now.phase == Phase::kLoading) return Trouble{unavailable_error("Loading model"), seconds(1)};
  if (now.phase == Phase::kFailed) return Trouble{unavailable_error(now.failure), seconds(60)};
  const Status health = now.service->health();
  if (health) return std::nullopt;
  return Trouble{health_error(health.error()), seconds(60)};
}

std::optional<App::Trouble> App::trouble(const State& now) {
  if (now.phase == Phase::kStopping)
    return Trouble{unavailable_error("The server is shutting down"), std::chrono::seconds(5)};
  return obstacle(now);
}

HttpResponse App::health() const {
  if (const auto now = trouble(state())) return unavailable(now->error, now->retry_after, error_response);
  return {.body = to_json(json::object{{"status", "ok"}})};
}

std::optional<HttpResponse> App::check_key(HttpRequest& request, const RouteOptions& options) const {
  const bool open = options.access == RouteAccess::kOpen ||
                    (options.access == RouteAccess::kMetrics && options_.open_metrics);
  if (open || !parts_.keys.required()) return std::nullopt;
  if (auto client = parts_.keys.client_of(request)) {
    request.client = *std::move(client);
    return std::nullopt;
  }
  const bool has_key = request.header("Authorization") || request.header("x-api-key");
  HttpResponse response = options.error_answer(
      {.status = 401,
       .message = has_key
                      ? "The API key is not valid."
                      : "An API key is needed: send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'.",
       .code = has_key ? "invalid_api_key" : "missing_api_key"});
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

HttpDecision App::decide(HttpRequest& request, const std::vector<std::string>& segments) {
  HttpDecision decision;
  decision.headers = cors_.headers_for(request);
  decision.error_answer = error_answer_for(request);
  if (auto preflight = cors_.preflight(request)) {
    decision.answer = std::move(preflight);
    return decision;
  }
  const State now = state();
  Router::Match match = own_routes_.find(request.method, segments);
  if (match.route == nullptr && match.allowed.empty()) {
    if (const auto why = obstacle(now)) {
      decision.answer = unavailable(why->error, why->retry_after, decision.error_answer);
      return decision;
    }
    match = now.routes->find(request.method, segments);
  }
  if (match.route == nullptr) {
    decision.answer = no_such_route(request, match.allowed, decision.error_answer);
    return decision;
  }
  decision.route = match.route->pattern;
  decision.error_answer = match.route->options.error_answer;
  if (auto refusal = check_key(request, match.route->options)) {
    decision.answer = std::move(refusal);
    return decision;
  }
  // Not on a worker: it must be answered also when all of these are busy.
  if (match.route->pattern == kHealth) decision.answer = health();
  request.path_values = std::move(match.path_values);
  decision.handler = match.route->handler;
  decision.max_body_bytes = match.route->options.max_body_bytes;
  return decision;
}

void App::count(const HttpRecord& record) {
  parts_.metrics
      .counter("kvern_http_requests_total", "Requests by route and status; 0 = the client went first.",
               {{"route", record.route.empty() ? "none" : record.route},
                {"status", std::to_string(record.answer.status)}})
      .add();
  durations_.observe(std::chrono::duration<double>(record.duration).count());
  sent_bytes_.add(record.answer.bytes);
}

void App::finished(const HttpRecord& record) {
  count(record);
  parts_.log.request(record);
}

void App::serve(const Router& routes, const engine::GenerationService& service) {
  const MutexLock lock(mutex_);
  if (state_.phase != Phase::kLoading) return;
  state_ = {.phase = Phase::kServing, .routes = &routes, .service = &service, .failure = {}};
}

void App::fail(std::string message) {
  const MutexLock lock(mutex_);
  if (state_.phase != Phase::kLoading) return;
  state_.phase = Phase::kFailed;
  state_.failure = std::move(message);
}

void App::begin_shutdown() {
  const MutexLock lock(mutex_);
  if (state_.phase == Phase::kServing) state_.phase = Phase::kStopping;
}

void App::observe(const HttpServer& server) {
  parts_.metrics.collect([&server](MetricsText& out) {
    const HttpServerStats stats = server.stats();
    const auto number = [](auto value) { return static_cast<double>(value); };
    out.gauge("kvern_http_connections", "Open connections.", number(stats.connections));
    out.gauge("kvern_http_requests_open", "Requests that are being read or answered.",
              number(stats.requests));
    out.gauge("kvern_http_queued_bytes", "Bytes of answers that wait for slow readers.",
              number(stats.queued_bytes));
    out.gauge("kvern_http_waiting_handlers", "Requests that wait for a worker.",
              number(stats.waiting_handlers));
    out.counter("kvern_http_connections_total", "Connections that were accepted.", number(stats.accepted));
    out.counter("kvern_http_connections_refused_total", "Connections that were one too many.",
                number(stats.overloaded));
  });
}

}  // namespace kvern::server
