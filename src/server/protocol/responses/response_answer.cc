#include "server/protocol/responses/response_answer.h"

#include <utility>

#include "server/http/sse.h"

namespace kvern::server::responses {

ResponseAnswer::ResponseAnswer(const ProtocolContext& context, const ResponseRequest& request,
                               std::shared_ptr<ResponseStore> store, std::shared_ptr<Exchange> exchange)
    : ReplyHandler(context, request, request.max_output_tokens),
      stream_(request.stream),
      keep_(request.store),
      background_(false),
      previous_run_(request.previous_run),
      input_(request.input),
      previous_(request.previous),
      store_(std::move(store)),
      exchange_(std::move(exchange)),
      events_(context, request.response, {.logprobs = request.logprobs}) {}

ResponseAnswer::ResponseAnswer(const ProtocolContext& context, const ResponseRequest& request,
                               std::shared_ptr<ResponseStore> store, std::shared_ptr<Run> run)
    : ReplyHandler(context, request, request.max_output_tokens),
      run_(run),
      stream_(true),
      keep_(request.store),
      background_(request.background),
      previous_run_(request.previous_run),
      input_(request.input),
      previous_(request.previous),
      store_(std::move(store)),
      exchange_(std::move(run)),
      events_(context, request.response, {.logprobs = request.logprobs}) {}

void ResponseAnswer::on_fault() {
  if (run_) run_->abandon();
}

void ResponseAnswer::flush() {
  for (const json::object& event : events_.take()) {
    if (!stream_) continue;
    exchange_->write_event(event.at("sequence_number").to_number<uint64_t>(),
                           sse_event(event.at("type").as_string(), to_json(event)));
  }
}

// Who asks for the response meanwhile sees the items that are complete.
void ResponseAnswer::tell_run() {
  if (!run_) return;
  items_told_ = events_.response().at("output").as_array().size();
  run_->set_body(to_json(events_.response()));
}

void ResponseAnswer::begin() {
  if (stream_) exchange_->start_stream(sse_head(context_.limits.ping_after));
  events_.begin();
  tell_run();
  flush();
}

void ResponseAnswer::piece(ReplyPiece piece) {
  events_.add(std::move(piece));
  if (events_.response().at("output").as_array().size() > items_told_) tell_run();
  flush();
}

void ResponseAnswer::keep() {
  const json::object& response = events_.response();
  RunOutcome outcome{
      .body = to_json(response), .input = to_json(input_), .stored = true, .previous = previous_run_};
  if (run_ && run_->is_discarded()) return;
  const std::string& client = exchange_->request().client;
  const std::string id(response.at("id").as_string());
  Turns turns = previous_;
  turns.push_back(store_->make_turn(input_, response.at("output").as_array()));
  StoredResponse stored{.body = outcome.body, .turns = std::move(turns), .run = 0};
  if (run_) {
    stored.run = run_->facts().run;
    run_->set_outcome(std::move(outcome));
  } else if (context_.runs != nullptr) {
    stored.run = context_.runs->keep(kRoute, client, id, std::move(outcome));
  }
  store_->put(client, id, std::move(stored));
}

void ResponseAnswer::end(ReplyEnd end) {
  events_.end(end);
  tell_run();
  if (keep_) keep();
  flush();
  if (stream_) return exchange_->end();
  exchange_->respond({.body = to_json(events_.response())});
}

void ResponseAnswer::fail(const Error& error) {
  const ApiError api = run_error(error);
  if (!stream_) return exchange_->respond(error_response(api));
  if (run_ && run_->was_cancelled())
    events_.cancel();
  else
    events_.fail(api);
  tell_run();
  // Whoever polls for it has to find out.
  if (background_) keep();
  flush();
  exchange_->end();
}

}  // namespace kvern::server::responses
