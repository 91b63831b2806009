#include "server/protocol/kv/routes.h"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "base/plural.h"
#include "server/http/http_error.h"
#include "server/protocol/kv/entry_routes.h"
#include "server/protocol/kv/kv_json.h"
#include "server/protocol/kv/session_routes.h"
#include "server/protocol/kv/transfer_routes.h"

namespace kvern::server::kv {
namespace {

json::object report_json(const engine::FlushReport& report) {
  return {{"durable", report.durable},   {"saved", report.saved},   {"dropped", report.dropped},
          {"declined", report.declined}, {"failed", report.failed}, {"evicted", report.evicted},
          {"left", report.left}};
}

ApiError incomplete(const engine::FlushReport& report) {
  if (report.left > 0)
    return {.status = 504,
            .message = counted(static_cast<int64_t>(report.left), "prefix", "prefixes") +
                       " could not be saved in time",
            .type = "timeout_error",
            .code = "flush_timeout"};
  std::string reasons;
  const auto add = [&](uint64_t count, std::string_view reason) {
    if (count > 0) reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", count, reason);
  };
  add(report.failed, "failed");
  add(report.dropped, "dropped since others came");
  add(report.declined, "declined: too large to be saved, or no server answers");
  add(report.evicted, "gone again: the directory has no room for all of them");
  const uint64_t count = report.failed + report.dropped + report.declined + report.evicted;
  return {
      .status = 503,
      .message = fmt::format("{} not saved: {}",
                             counted(static_cast<int64_t>(count), "prefix was", "prefixes were"), reasons),
      .type = "unavailable_error",
      .code = "flush_incomplete"};
}

void flush(const ProtocolContext& context, Exchange& exchange) {
  const auto report = context.service.flush(context.clock.now() + context.limits.flush_timeout);
  if (!report) return respond_error(exchange, report.error());
  json::object body = report_json(*report);
  if (report->durable) return exchange.respond({.body = to_json(body)});
  HttpResponse response = error_response(incomplete(*report));
  body["error"] = error_json(incomplete(*report)).at("error");
  response.body = to_json(body);
  exchange.respond(std::move(response));
}

}  // namespace

Handler on_saved(const ProtocolContext& context, Executor& executor, RouteTakes takes, SavedHandler handler) {
  return [&context, &executor, takes = std::move(takes),
          handler = std::move(handler)](std::shared_ptr<Exchange> exchange) {
    if (context.saved == nullptr) return respond_nothing_saved(*exchange);
    if (const auto right = check_request(exchange->request(), takes); !right)
      return respond_wrong_request(*exchange, right.error());
    executor.post([&context, handler, exchange = std::move(exchange)] { handler(*context.saved, exchange); });
  };
}

void add_routes(Router& router, const ProtocolContext& context, const Executors& executors) {
  router.add("POST", "/v1/kv/flush",
             [&context, &patient = executors.patient](std::shared_ptr<Exchange> exchange) {
               if (const auto right = check_request(exchange->request(), {.query = {}}); !right)
                 return respond_wrong_request(*exchange, right.error());
               patient.post([&context, exchange = std::move(exchange)] { flush(context, *exchange); });
             });
  add_entry_routes(router, context, executors);
  add_session_routes(router, context, executors);
  add_transfer_routes(router, context, executors);
}

}  // namespace kvern::server::kv
