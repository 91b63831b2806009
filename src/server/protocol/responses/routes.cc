#include "server/protocol/responses/routes.h"

#include <utility>
#include <vector>

#include "server/protocol/generation_run.h"
#include "server/protocol/request_fields.h"
#include "server/protocol/responses/response_answer.h"
#include "server/protocol/responses/response_request.h"
#include "server/protocol/responses/stored_routes.h"

namespace kvern::server::responses {
namespace {

void refuse(Exchange& exchange, const Error& error) {
  ApiError api = request_error(error, kFields);
  if (error.code == ErrorCode::kNotFound && error.where == kPreviousField) {
    api.status = 400;
    api.code = "previous_response_not_found";
  }
  exchange.respond(error_response(api));
}

}  // namespace

void create_response(const ProtocolContext& context, std::shared_ptr<ResponseStore> store,
                     std::shared_ptr<Exchange> exchange) {
  const auto body = parse_body(context, *exchange);
  if (!body) return refuse(*exchange, body.error());
  auto request = read_response_request(
      *body, {.context = context, .store = *store, .client = exchange->request().client});
  if (!request) return refuse(*exchange, request.error());
  auto answer = std::make_unique<ResponseAnswer>(context, *request, std::move(store), exchange);
  std::vector<engine::ServiceRequest> parts;
  parts.push_back(std::move(request->service));
  const auto run = GenerationRun::start(context, *exchange, std::move(parts), std::move(answer));
  if (!run) exchange->respond(error_response(submit_error(run.error(), kFields)));
}

void count_input_tokens(const ProtocolContext& context, ResponseStore& store, Exchange& exchange) {
  const auto body = parse_body(context, exchange);
  if (!body) return refuse(exchange, body.error());
  const auto tokens =
      read_input_tokens(*body, {.context = context, .store = store, .client = exchange.request().client});
  if (!tokens) return refuse(exchange, tokens.error());
  exchange.respond(
      {.body = to_json(json::object{{"object", "response.input_tokens"}, {"input_tokens", *tokens}})});
}

void add_routes(Router& router, const ProtocolContext& context) {
  const auto store = std::make_shared<ResponseStore>(
      context.clock, ResponseStore::Limits{.max_responses = context.limits.max_stored_responses,
                                           .max_bytes = context.limits.max_stored_bytes,
                                           .kept_for = context.limits.stored_for});
  router.add("POST", "/v1/responses", [&context, store](std::shared_ptr<Exchange> exchange) {
    create_response(context, store, std::move(exchange));
  });
  router.add("POST", "/v1/responses/input_tokens",
             [&context, store](const std::shared_ptr<Exchange>& exchange) {
               count_input_tokens(context, *store, *exchange);
             });
  router.add("GET", "/v1/responses/{id}",
             [store](const std::shared_ptr<Exchange>& exchange) { show_response(*store, *exchange); });
  router.add("DELETE", "/v1/responses/{id}",
             [store](const std::shared_ptr<Exchange>& exchange) { delete_response(*store, *exchange); });
  router.add("GET", "/v1/responses/{id}/input_items",
             [store](const std::shared_ptr<Exchange>& exchange) { list_input_items(*store, *exchange); });
}

}  // namespace kvern::server::responses
