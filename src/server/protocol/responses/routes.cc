#include "server/protocol/responses/routes.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "server/protocol/generation_run.h"
#include "server/protocol/request_fields.h"
#include "server/protocol/responses/response_answer.h"
#include "server/protocol/responses/response_request.h"
#include "server/protocol/responses/stored_routes.h"
#include "server/protocol/runs/runs.h"

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

namespace {

/// A request as a run: a new one of `exchange`, or, without one, one that a former process had begun.
void run_response(const std::shared_ptr<ResponseStore>& store, const std::shared_ptr<Run>& run,
                  const json::value& body, const std::shared_ptr<Exchange>& exchange) {
  RunScope& scope = run->scope();
  Exchange& asking = exchange ? *exchange : *run;
  auto request =
      read_response_request(body, {.context = scope.reading, .store = *store, .client = run->facts().client});
  if (!request) return refuse(asking, request.error());
  const bool stream = request->stream;
  RunPlan plan{.id = std::string(request->response.at("id").as_string()),
               .service = {},
               .handler = std::make_unique<ResponseAnswer>(scope.answering, *request, store, run),
               .previous = request->previous_run};
  json::object queued = request->response;
  queued["status"] = "queued";
  plan.service = std::move(request->service);
  if (const Status started = scope.reading.runs->start(run, std::move(plan)); !started)
    return asking.respond(error_response(submit_error(started.error(), kFields)));
  if (!exchange) return;
  if (stream) {
    static_cast<void>(run->follow(exchange, std::nullopt));  // everything is always there
    return;
  }
  run->when_shown([exchange, body = to_json(queued)] { exchange->respond({.body = body}); });
}

/// Takes up what a former process had kept. Conversations are put together from their turns.
void restore_responses(ResponseStore& store, const std::vector<KeptRun>& kept) {
  std::map<uint64_t, Turns> conversations;
  for (const KeptRun& each : kept) {
    const auto body = parse_json(each.outcome.body, "a kept response");
    const json::object* response = body ? body->if_object() : nullptr;
    const json::value* output = response == nullptr ? nullptr : response->if_contains("output");
    if (output == nullptr || !output->is_array()) continue;
    Turns turns;
    if (const auto previous = conversations.find(each.outcome.previous); previous != conversations.end())
      turns = previous->second;
    turns.push_back(store.make_turn(Turn{.input = each.outcome.input, .output = to_json(*output)}));
    if (!each.hidden) {
      store.put(each.facts.client, each.id,
                {.body = each.outcome.body, .turns = turns, .run = each.facts.run});
    }
    conversations.emplace(each.facts.run, std::move(turns));
  }
}

void add_run_routes(Router& router, const ProtocolContext& context,
                    const std::shared_ptr<ResponseStore>& store) {
  if (context.runs == nullptr) return;
  Runs& runs = *context.runs;
  router.add("POST", "/v1/responses/{id}/cancel", [&runs, store](std::shared_ptr<Exchange> exchange) {
    cancel_response(runs, store, std::move(exchange));
  });
  runs.on_restore(kRoute, [store](const std::vector<KeptRun>& kept) { restore_responses(*store, kept); });
  runs.on_resume(kRoute, [store](const std::shared_ptr<Run>& run, const std::string& text) {
    const auto body = parse_json(text, "", {.max_depth = run->scope().reading.limits.max_json_depth});
    if (!body) return refuse(*run, body.error());
    run_response(store, run, *body, nullptr);
  });
}

}  // namespace

void create_response(const ProtocolContext& context, std::shared_ptr<ResponseStore> store,
                     std::shared_ptr<Exchange> exchange) {
  const auto body = parse_body(context, *exchange);
  if (!body) return refuse(*exchange, body.error());
  if (context.runs != nullptr && context.runs->takes(*body))
    return run_response(store, context.runs->open(context, *exchange, *body), *body, exchange);
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
  router.add("POST", kRoute, [&context, store](std::shared_ptr<Exchange> exchange) {
    create_response(context, store, std::move(exchange));
  });
  router.add("POST", "/v1/responses/input_tokens",
             [&context, store](const std::shared_ptr<Exchange>& exchange) {
               count_input_tokens(context, *store, *exchange);
             });
  router.add("GET", "/v1/responses/{id}", [&context, store](const std::shared_ptr<Exchange>& exchange) {
    show_response(context.runs, *store, exchange);
  });
  router.add("DELETE", "/v1/responses/{id}", [&context, store](const std::shared_ptr<Exchange>& exchange) {
    delete_response(context.runs, *store, *exchange);
  });
  router.add("GET", "/v1/responses/{id}/input_items",
             [store](const std::shared_ptr<Exchange>& exchange) { list_input_items(*store, *exchange); });
  add_run_routes(router, context, store);
}

}  // namespace kvern::server::responses
