#include "server/protocol/kv/routes.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "server/http/http_error.h"

namespace kvern::server::kv {
namespace {

json::object report_json(const engine::FlushReport& report) {
  return {{"durable", report.durable},
          {"saved", report.saved},
          {"dropped", report.dropped},
          {"failed", report.failed},
          {"left", report.left}};
}

ApiError incomplete(const engine::FlushReport& report) {
  if (report.left > 0)
    return {.status = 504,
            .message = fmt::format("{} prefixes could not be saved in time", report.left),
            .type = "timeout_error",
            .code = "flush_timeout"};
  return {.status = 503,
          .message = fmt::format("{} prefixes were not saved: {} failed, {} were dropped since others came",
                                 report.failed + report.dropped, report.failed, report.dropped),
          .type = "unavailable_error",
          .code = "flush_incomplete"};
}

ApiError impossible(const Error& error) {
  ApiError answer = to_api_error(error);
  if (error.code == ErrorCode::kUnsupported) {
    answer.status = 501;
    answer.type = "not_supported_error";
    answer.code = "no_kv_directory";
  }
  return answer;
}

void flush(const ProtocolContext& context, Exchange& exchange) {
  const auto report = context.service.flush(context.clock.now() + context.limits.flush_timeout);
  if (!report) return exchange.respond(error_response(impossible(report.error())));
  json::object body = report_json(*report);
  if (report->durable) return exchange.respond({.body = to_json(body)});
  HttpResponse response = error_response(incomplete(*report));
  body["error"] = error_json(incomplete(*report)).at("error");
  response.body = to_json(body);
  exchange.respond(std::move(response));
}

}  // namespace

void add_routes(Router& router, const ProtocolContext& context, Executor& patient) {
  router.add("POST", "/v1/kv/flush", [&context, &patient](std::shared_ptr<Exchange> exchange) {
    patient.post([&context, exchange = std::move(exchange)] { flush(context, *exchange); });
  });
}

}  // namespace kvern::server::kv
