#include "server/protocol/llama/routes.h"

#include <string>
#include <utility>

#include "server/http/http_error.h"
#include "server/protocol/llama/server_info.h"
#include "server/protocol/llama/template_route.h"
#include "server/protocol/llama/tokenizer_routes.h"
#include "server/protocol/request_errors.h"
#include "server/protocol/request_fields.h"

namespace kvern::server::llama {
namespace {

constexpr FieldNames kFields{.prompt = "messages", .max_new_tokens = "n_predict"};

using Answer = Result<std::string> (*)(const json::value& body, const ProtocolContext& context);

/// A route that turns a body into an answer at once.
void add_plain(Router& router, const ProtocolContext& context, std::string_view path, Answer answer) {
  router.add("POST", path, [&context, answer](const std::shared_ptr<Exchange>& exchange) {
    const auto body = parse_body(context, *exchange);
    if (!body) return exchange->respond(error_response(request_error(body.error(), kFields)));
    const auto result = answer(*body, context);
    if (!result) return exchange->respond(error_response(request_error(result.error(), kFields)));
    exchange->respond({.body = *result});
  });
}

void show_slots(const ProtocolContext& context, Exchange& exchange) {
  // Rows are admitted as memory allows, so no slot is free when a request has to wait.
  if (exchange.request().query_value("fail_on_no_slot") && context.service.stats().waiting > 0) {
    return exchange.respond(
        error_response({.status = 503, .message = "no slot available", .type = "unavailable_error"}));
  }
  exchange.respond({.body = to_json(slots_json(context))});
}

}  // namespace

void add_routes(Router& router, const ProtocolContext& context) {
  router.add("GET", "/props", [&context](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = to_json(props_json(context))});
  });
  router.add("GET", "/slots",
             [&context](const std::shared_ptr<Exchange>& exchange) { show_slots(context, *exchange); });
  add_plain(router, context, "/tokenize", tokenize);
  add_plain(router, context, "/detokenize", detokenize);
  add_plain(router, context, "/apply-template", apply_template);
}

}  // namespace kvern::server::llama
