// The answer of /v1/responses: one object, or a stream of events.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "server/http/exchange.h"
#include "server/protocol/reply_handler.h"
#include "server/protocol/responses/response_events.h"
#include "server/protocol/responses/response_request.h"
#include "server/protocol/responses/response_store.h"
#include "server/protocol/runs/runs.h"

namespace kvern::server::responses {

/// Stores a response that has ended, if that is wanted, before the client learns of its end.
class ResponseAnswer : public ReplyHandler {
 public:
  ResponseAnswer(const ProtocolContext& context, const ResponseRequest& request,
                 std::shared_ptr<ResponseStore> store, std::shared_ptr<Exchange> exchange);
  /// Of a run, which gets all events, whoever reads them.
  ResponseAnswer(const ProtocolContext& context, const ResponseRequest& request,
                 std::shared_ptr<ResponseStore> store, std::shared_ptr<Run> run);

  void on_fault() override;

 private:
  void begin() override;
  void piece(ReplyPiece piece) override;
  void end(ReplyEnd end) override;
  void fail(const Error& error) override;
  void flush();
  void keep();
  void tell_run();

  const std::shared_ptr<Run> run_;  // or null
  const bool stream_;
  const bool keep_;
  const bool background_;
  const uint64_t previous_run_;
  const json::array input_;
  const Turns previous_;
  const std::shared_ptr<ResponseStore> store_;
  const std::shared_ptr<Exchange> exchange_;
  ResponseEvents events_;
  size_t items_told_ = 0;  // of the output, in what the run shows
};

}  // namespace kvern::server::responses
