#include "server/protocol/anthropic/routes.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "server/protocol/anthropic/errors.h"
#include "server/protocol/anthropic/message_answer.h"
#include "server/protocol/anthropic/message_request.h"
#include "server/protocol/generation_run.h"
#include "server/protocol/request_fields.h"

namespace kvern::server::anthropic {
namespace {

constexpr std::string_view kVersionHeader = "anthropic-version";
constexpr size_t kShownBytes = 40;

void refuse(Exchange& exchange, const ApiError& error) {
  exchange.respond(error_response(error, exchange.request().id));
}

/// 2023-01-01 has other events, and what comes later may have.
Result<ApiVersion> read_version(const HttpRequest& request) {
  const auto version = request.header(kVersionHeader);
  // Who names none gets the one that takes more.
  if (!version || *version == "2023-06-01") return ApiVersion::k20230601;
  if (*version == "2026-10-21") return ApiVersion::k20261021;
  return fail(ErrorCode::kUnsupported,
              fmt::format("{}: 2023-06-01 and 2026-10-21 are supported, not {}", kVersionHeader,
                          describe(json::value(version->substr(0, kShownBytes)))),
              std::string(kVersionHeader));
}

Result<MessageRequest> read_messages(const ProtocolContext& context, const Exchange& exchange) {
  KVERN_TRY(const ApiVersion version, read_version(exchange.request()));
  KVERN_TRY(const json::value body, parse_body(context, exchange));
  return read_message_request(body, context, version);
}

Result<int64_t> read_count(const ProtocolContext& context, const Exchange& exchange) {
  KVERN_TRY_STATUS(read_version(exchange.request()));
  KVERN_TRY(const json::value body, parse_body(context, exchange));
  return read_count_request(body, context);
}

}  // namespace

void messages(const ProtocolContext& context, std::shared_ptr<Exchange> exchange) {
  auto request = read_messages(context, *exchange);
  if (!request) return refuse(*exchange, request_error(request.error(), kFields));
  auto answer = make_message_answer(context, *request, exchange);
  std::vector<engine::ServiceRequest> parts;
  parts.push_back(std::move(request->service));
  const auto run = GenerationRun::start(context, *exchange, std::move(parts), std::move(answer));
  if (!run) refuse(*exchange, submit_error(run.error(), kFields));
}

void count_tokens(const ProtocolContext& context, std::shared_ptr<Exchange> exchange) {
  const auto tokens = read_count(context, *exchange);
  if (!tokens) return refuse(*exchange, request_error(tokens.error(), kFields));
  exchange->respond({.headers = {{"request-id", exchange->request().id}},
                     .body = to_json(json::object{{"input_tokens", *tokens}})});
}

void add_routes(Router& router, const ProtocolContext& context) {
  const RouteOptions options{.error_answer = plain_error_response};
  router.add(
      "POST", "/v1/messages",
      [&context](std::shared_ptr<Exchange> exchange) { messages(context, std::move(exchange)); }, options);
  router.add(
      "POST", "/v1/messages/count_tokens",
      [&context](std::shared_ptr<Exchange> exchange) { count_tokens(context, std::move(exchange)); },
      options);
}

}  // namespace kvern::server::anthropic
