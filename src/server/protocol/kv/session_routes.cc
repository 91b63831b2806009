#include "server/protocol/kv/session_routes.h"

#include <string>
#include <utility>

#include "server/protocol/kv/kv_json.h"
#include "server/protocol/kv/prompt_run.h"
#include "server/protocol/kv/session_request.h"
#include "server/protocol/request_fields.h"

namespace kvern::server::kv {
namespace {

using engine::SavedPrefixes;
using engine::SavedSession;
using ExchangePtr = std::shared_ptr<Exchange>;

std::string name_space_of(const Exchange& exchange) {
  return ProtocolContext::name_space(exchange.request(), salt_of(exchange));
}

/// With how it came about: {} when nothing had to be done.
void respond_session(Exchange& exchange, const SavedSession& session, const engine::RequestEnd& run) {
  json::object body = session_json(session);
  body["cached_tokens"] = run.cached_tokens;
  body["computed_tokens"] = run.prompt_tokens - run.cached_tokens;
  respond_json(exchange, body);
}

void list_sessions(SavedPrefixes& saved, Exchange& exchange) {
  const auto sessions = saved.sessions(name_space_of(exchange));
  if (!sessions) return respond_error(exchange, sessions.error());
  json::array data;
  for (const SavedSession& session : *sessions) data.push_back(session_json(session));
  respond_json(exchange, {{"object", "list"}, {"data", std::move(data)}});
}

void show_session(const ProtocolContext& context, SavedPrefixes& saved, Exchange& exchange) {
  const auto session = saved.session(name_space_of(exchange), path_value(exchange));
  if (!session) return respond_error(exchange, session.error());
  json::object body = session_json(*session);
  body["token_ids"] = json::array(session->tokens.begin(), session->tokens.end());
  if (const text::Tokenizer* tokenizer = context.engine.tokenizer())
    body["text"] = tokenizer->decode(session->tokens, {.skip_special = false});
  respond_json(exchange, body);
}

void delete_session(SavedPrefixes& saved, Exchange& exchange) {
  const std::string name = path_value(exchange);
  if (const auto gone = saved.forget_session(name_space_of(exchange), name); !gone)
    return respond_error(exchange, gone.error());
  respond_json(exchange, {{"object", "kv.session"}, {"name", name}, {"deleted", true}});
}

void fork_session(const ProtocolContext& context, SavedPrefixes& saved, Exchange& exchange) {
  const auto body = parse_body(context, exchange);
  if (!body) return respond_error(exchange, body.error());
  const auto name = read_session_name(*body);
  if (!name) return exchange.respond(error_response(request_error(name.error(), kSessionFields)));
  const std::string name_space = name_space_of(exchange);
  auto session = saved.session(name_space, path_value(exchange));
  if (!session) return respond_error(exchange, session.error());
  auto forked = saved.save_session(name_space, *name, std::move(session->tokens));
  if (!forked && forked.error().code == ErrorCode::kNotFound)
    forked.error().message = "what this session had is gone; restore it first";
  if (!forked) return respond_error(exchange, forked.error());
  respond_json(exchange, session_json(*forked));
}

/// Saves what is in memory now, and then it can be named.
void save_computed(const ProtocolContext& context, Exchange& exchange, const SessionRequest& request,
                   const engine::RequestEnd& run) {
  const auto flushed = context.service.flush(context.clock.now() + context.limits.flush_timeout);
  auto session = context.saved->save_session(name_space_of(exchange), request.name, request.tokens);
  if (session) return respond_session(exchange, *session, run);
  if (session.error().code != ErrorCode::kNotFound) return respond_error(exchange, session.error());
  const std::string why = flushed ? "there was no room or no time for it" : flushed.error().message;
  exchange.respond(error_response({.status = 503,
                                   .message = "the prompt was computed and could not be saved: " + why,
                                   .type = "unavailable_error",
                                   .code = "not_saved"}));
}

void respond_run_error(Exchange& exchange, const Error& error) {
  const bool late = error.where == engine::kDeadline;
  exchange.respond(error_response(late ? run_error(error) : submit_error(error, kSessionFields)));
}

void save_session(const ProtocolContext& context, Executor& patient, const ExchangePtr& exchange) {
  const auto body = parse_body(context, *exchange);
  if (!body) return respond_error(*exchange, body.error());
  auto request = read_session_request(*body, context);
  if (!request) return exchange->respond(error_response(request_error(request.error(), kSessionFields)));
  const auto covered = context.saved->covering(name_space_of(*exchange), request->tokens);
  if (!covered) return respond_error(*exchange, covered.error());
  if (*covered) {
    const auto session =
        context.saved->save_session(name_space_of(*exchange), request->name, request->tokens);
    if (!session) return respond_error(*exchange, session.error());
    return respond_session(*exchange, *session, {});
  }
  PromptRun run{.tokens = request->tokens, .salt = salt_of(*exchange)};
  run_prompt(context, patient, exchange, std::move(run),
             [&context, exchange, request = *std::move(request)](const Result<engine::RequestEnd>& end) {
               if (!end) return respond_run_error(*exchange, end.error());
               save_computed(context, *exchange, request, *end);
             });
}

/// Into memory, so that the next request that goes on from there need not wait.
void restore_session(const ProtocolContext& context, Executor& patient, const ExchangePtr& exchange) {
  auto session = context.saved->session(name_space_of(*exchange), path_value(*exchange));
  if (!session) return respond_error(*exchange, session.error());
  PromptRun run{.tokens = session->tokens, .salt = salt_of(*exchange)};
  run_prompt(context, patient, exchange, std::move(run),
             [exchange, session = *std::move(session)](const Result<engine::RequestEnd>& end) {
               if (!end) return respond_run_error(*exchange, end.error());
               respond_session(*exchange, session, *end);
             });
}

}  // namespace

void add_session_routes(Router& router, const ProtocolContext& context, const Executors& executors) {
  Executor& patient = executors.patient;
  const auto add = [&](const char* method, const char* path, SavedHandler handler,
                       BodyUse body = BodyUse::kNone) {
    router.add(method, path, on_saved(context, patient, {.body = body}, std::move(handler)));
  };
  add("GET", "/v1/kv/sessions",
      [](SavedPrefixes& saved, const ExchangePtr& exchange) { list_sessions(saved, *exchange); });
  add(
      "POST", "/v1/kv/sessions",
      [&context, &patient](SavedPrefixes& /*saved*/, const ExchangePtr& exchange) {
        save_session(context, patient, exchange);
      },
      BodyUse::kRead);
  add("GET", "/v1/kv/sessions/{name}", [&context](SavedPrefixes& saved, const ExchangePtr& exchange) {
    show_session(context, saved, *exchange);
  });
  add("DELETE", "/v1/kv/sessions/{name}",
      [](SavedPrefixes& saved, const ExchangePtr& exchange) { delete_session(saved, *exchange); });
  add("POST", "/v1/kv/sessions/{name}/restore",
      [&context, &patient](SavedPrefixes& /*saved*/, const ExchangePtr& exchange) {
        restore_session(context, patient, exchange);
      });
  add(
      "POST", "/v1/kv/sessions/{name}/fork",
      [&context](SavedPrefixes& saved, const ExchangePtr& exchange) {
        fork_session(context, saved, *exchange);
      },
      BodyUse::kRead);
}

}  // namespace kvern::server::kv
