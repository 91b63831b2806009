// A response while it grows: the events that tell of it, and the object that they add up to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "server/http/http_error.h"
#include "server/protocol/context.h"
#include "server/protocol/reply_handler.h"

namespace kvern::server::responses {

/// Turns pieces of a reply into events, which are data: objects with `type` and `sequence_number`, from 0 on,
/// without gaps. A stream sends them; one that was broken can be gone on with behind any number. Items of the
/// output follow each other: one is begun, grows and is done before the next one begins. One thread.
class ResponseEvents {
 public:
  struct Options {
    bool logprobs = false;  ///< texts have the log-probabilities of their tokens
  };
  /// `response`: as ResponseRequest has it.
  ResponseEvents(const ProtocolContext& context, json::object response, Options options);

  void begin();
  void add(ReplyPiece piece);
  void end(const ReplyEnd& end);
  void fail(const ApiError& error);
  /// The client has cancelled it: it ends as a failed one does, but for its status.
  void cancel();

  /// The events since the last call, in order.
  std::vector<json::object> take() { return std::exchange(events_, {}); }
  /// The response as it is now; items that are open are not in it.
  const json::object& response() const { return response_; }

 private:
  enum class Open : uint8_t { kNone, kText, kReasoning, kCall };
  void emit(std::string_view type, json::object members);
  void emit_response(std::string_view type);
  json::object place() const;

  void grow(const engine::ReplyDelta& delta);
  void open(Open kind, json::object item);
  void open_text();
  void open_reasoning();
  void open_call(const std::string& name);
  void close(std::string_view status);
  void close_part();
  void close_call();
  json::object text_part() const;

  const ProtocolContext& context_;
  json::object response_;
  const Options options_;
  std::vector<json::object> events_;
  uint64_t next_number_ = 0;

  Open open_ = Open::kNone;
  json::object item_;     // the one that is open, as it was begun
  std::string text_;      // its text or arguments so far
  json::array logprobs_;  // of its text
  json::array pending_;   // of tokens whose text has not come yet
};

}  // namespace kvern::server::responses
