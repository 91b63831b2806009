#include "server/protocol/openai/routes.h"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "server/http/http_error.h"
#include "server/protocol/generation_run.h"
#include "server/protocol/openai/chat_answer.h"
#include "server/protocol/openai/chat_request.h"
#include "server/protocol/openai/completion_answer.h"
#include "server/protocol/openai/completion_request.h"
#include "server/protocol/openai/errors.h"
#include "server/protocol/query_fields.h"
#include "server/protocol/request_fields.h"
#include "server/protocol/runs/reconnect.h"
#include "server/protocol/runs/runs.h"

namespace kvern::server::openai {
namespace {

constexpr const char* kChatRoute = "/v1/chat/completions";

/// Each has a member "id", as OpenAI lists them.
json::object model_json(const ProtocolContext& context, const std::string& name) {
  return {{"id", name}, {"object", "model"}, {"created", context.created}, {"owned_by", "kvern"}};
}

void list_models(const ProtocolContext& context, Exchange& exchange) {
  json::array models{model_json(context, context.model_name)};
  for (const std::string& alias : context.aliases) models.push_back(model_json(context, alias));
  exchange.respond({.body = to_json(json::object{{"object", "list"}, {"data", std::move(models)}})});
}

void show_model(const ProtocolContext& context, Exchange& exchange) {
  const auto& values = exchange.request().path_values;
  const std::string name = values.empty() ? "" : values.front();
  if (context.serves(name)) return exchange.respond({.body = to_json(model_json(context, name))});
  exchange.respond(
      error_response({.status = 404,
                      .message = fmt::format("The model `{}` does not exist", name.substr(0, 100)),
                      .param = "model",
                      .code = "model_not_found"}));
}

/// A stream as a run: a new one of `exchange`, or, without one, one that a former process had begun.
void run_chat(const std::shared_ptr<Run>& run, const json::value& body,
              const std::shared_ptr<Exchange>& exchange) {
  RunScope& scope = run->scope();
  Exchange& asking = exchange ? *exchange : *run;
  const auto refuse = [&](const ApiError& error) { asking.respond(error_response(error)); };
  auto request = read_chat_request(body, scope.reading);
  if (!request) return refuse(request_error(request.error(), kChatFields));
  RunPlan plan{.id = request->answer.id,
               .service = {},
               .handler = std::make_unique<ChatStream>(scope.answering, *request, run)};
  plan.service = std::move(request->service);
  if (const Status started = scope.reading.runs->start(run, std::move(plan)); !started)
    return refuse(submit_error(started.error(), kChatFields));
  if (exchange) static_cast<void>(run->follow(exchange, std::nullopt));  // everything is always there
}

void not_found(Exchange& exchange) {
  exchange.respond(error_response(
      {.status = 404,
       .message = fmt::format("There is no stream of a completion '{}' that can be gone on with.",
                              exchange.request().path_values.at(0).substr(0, 100)),
       .code = "not_found"}));
}

/// GET /v1/chat/completions/{id}: the events of a stream, once more or from there on.
void show_chat(const Runs& runs, const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request();
  static constexpr std::string_view kKnown[] = {"stream", "starting_after"};
  if (const auto right = check_query(request, kKnown); !right)
    return exchange->respond(error_response(request_error(right.error(), kChatFields)));
  const auto run = runs.find(kChatRoute, request.client, request.path_values.at(0));
  if (run == nullptr) return not_found(*exchange);
  if (wants_events(request)) return send_events(*run, exchange);
  exchange->respond(error_response({.status = 400,
                                    .message = "stream: only true; completions are not kept",
                                    .param = "stream",
                                    .code = "unsupported_parameter"}));
}

/// DELETE /v1/chat/completions/{id}: the generation ends, and its events are forgotten.
void delete_chat(Runs& runs, Exchange& exchange) {
  if (const auto right = check_query(exchange.request(), {}); !right)
    return exchange.respond(error_response(request_error(right.error(), kChatFields)));
  const std::string& id = exchange.request().path_values.at(0);
  if (!runs.erase(kChatRoute, exchange.request().client, id)) return not_found(exchange);
  exchange.respond(
      {.body = to_json(json::object{{"object", "chat.completion.deleted"}, {"id", id}, {"deleted", true}})});
}

void add_run_routes(Router& router, const ProtocolContext& context) {
  if (context.runs == nullptr) return;
  Runs& runs = *context.runs;
  router.add("GET", "/v1/chat/completions/{id}",
             [&runs](const std::shared_ptr<Exchange>& exchange) { show_chat(runs, exchange); });
  router.add("DELETE", "/v1/chat/completions/{id}",
             [&runs](const std::shared_ptr<Exchange>& exchange) { delete_chat(runs, *exchange); });
  runs.on_resume(kChatRoute, [](const std::shared_ptr<Run>& run, const std::string& text) {
    const auto body = parse_json(text, "", {.max_depth = run->scope().reading.limits.max_json_depth});
    if (!body) return run->respond(error_response(request_error(body.error(), kChatFields)));
    run_chat(run, *body, nullptr);
  });
}

}  // namespace

void chat_completions(const ProtocolContext& context, std::shared_ptr<Exchange> exchange) {
  const auto refuse = [&](const ApiError& error) { exchange->respond(error_response(error)); };
  const auto body = parse_body(context, *exchange);
  if (!body) return refuse(request_error(body.error(), kChatFields));
  if (context.runs != nullptr && context.runs->takes(*body))
    return run_chat(context.runs->open(context, *exchange, *body), *body, exchange);
  auto request = read_chat_request(*body, context);
  if (!request) return refuse(request_error(request.error(), kChatFields));
  auto answer = make_chat_answer(context, *request, exchange);
  std::vector<engine::ServiceRequest> parts;
  parts.push_back(std::move(request->service));
  const auto run = GenerationRun::start(context, *exchange, std::move(parts), std::move(answer));
  if (!run) refuse(submit_error(run.error(), kChatFields));
}

void completions(const ProtocolContext& context, std::shared_ptr<Exchange> exchange) {
  const auto refuse = [&](const ApiError& error) { exchange->respond(error_response(error)); };
  const auto body = parse_body(context, *exchange);
  if (!body) return refuse(request_error(body.error(), kTextFields));
  auto request = read_completion_request(*body, context);
  if (!request) return refuse(request_error(request.error(), kTextFields));
  auto answer = make_completion_answer(context, *request, exchange);
  const auto run = GenerationRun::start(context, *exchange, std::move(request->parts), std::move(answer));
  if (!run) refuse(submit_error(run.error(), kTextFields));
}

void add_routes(Router& router, const ProtocolContext& context) {
  router.add("POST", kChatRoute, [&context](std::shared_ptr<Exchange> exchange) {
    chat_completions(context, std::move(exchange));
  });
  router.add("POST", "/v1/completions",
             [&context](std::shared_ptr<Exchange> exchange) { completions(context, std::move(exchange)); });
  router.add("GET", "/v1/models",
             [&context](const std::shared_ptr<Exchange>& exchange) { list_models(context, *exchange); });
  router.add("GET", "/v1/models/{id*}",
             [&context](const std::shared_ptr<Exchange>& exchange) { show_model(context, *exchange); });
  add_run_routes(router, context);
}

}  // namespace kvern::server::openai
