#include "server/protocol/openai/routes.h"

#include <string>
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
#include "server/protocol/request_fields.h"

namespace kvern::server::openai {
namespace {

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

}  // namespace

void chat_completions(const ProtocolContext& context, std::shared_ptr<Exchange> exchange) {
  const auto refuse = [&](const ApiError& error) { exchange->respond(error_response(error)); };
  const auto body = parse_body(context, *exchange);
  if (!body) return refuse(request_error(body.error(), kChatFields));
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
  router.add("POST", "/v1/chat/completions", [&context](std::shared_ptr<Exchange> exchange) {
    chat_completions(context, std::move(exchange));
  });
  router.add("POST", "/v1/completions",
             [&context](std::shared_ptr<Exchange> exchange) { completions(context, std::move(exchange)); });
  router.add("GET", "/v1/models",
             [&context](const std::shared_ptr<Exchange>& exchange) { list_models(context, *exchange); });
  router.add("GET", "/v1/models/{id*}",
             [&context](const std::shared_ptr<Exchange>& exchange) { show_model(context, *exchange); });
}

}  // namespace kvern::server::openai
