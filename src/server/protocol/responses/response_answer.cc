#include "server/protocol/responses/response_answer.h"

#include <utility>

#include "server/http/sse.h"

namespace kvern::server::responses {

ResponseAnswer::ResponseAnswer(const ProtocolContext& context, const ResponseRequest& request,
                               std::shared_ptr<ResponseStore> store, std::shared_ptr<Exchange> exchange)
    : ReplyHandler(context, request, request.max_output_tokens),
      stream_(request.stream),
      keep_(request.store),
      input_(request.input),
      previous_(request.previous),
      store_(std::move(store)),
      exchange_(std::move(exchange)),
      events_(context, request.response, {.logprobs = request.logprobs}) {}

void ResponseAnswer::flush() {
  for (const json::object& event : events_.take()) {
    if (stream_) exchange_->write(sse_event(event.at("type").as_string(), to_json(event)));
  }
}

void ResponseAnswer::begin() {
  if (stream_) exchange_->start_stream(sse_head(context_.limits.ping_after));
  events_.begin();
  flush();
}

void ResponseAnswer::piece(ReplyPiece piece) {
  events_.add(std::move(piece));
  flush();
}

void ResponseAnswer::keep() {
  const json::object& response = events_.response();
  Turns turns = previous_;
  turns.push_back(store_->make_turn(input_, response.at("output").as_array()));
  store_->put(exchange_->request().client, std::string(response.at("id").as_string()),
              {.body = to_json(response), .turns = std::move(turns)});
}

void ResponseAnswer::end(ReplyEnd end) {
  events_.end(end);
  if (keep_) keep();
  flush();
  if (stream_) return exchange_->end();
  exchange_->respond({.body = to_json(events_.response())});
}

void ResponseAnswer::fail(const Error& error) {
  const ApiError api = run_error(error);
  if (!stream_) return exchange_->respond(error_response(api));
  events_.fail(api);
  flush();
  exchange_->end();
}

}  // namespace kvern::server::responses
