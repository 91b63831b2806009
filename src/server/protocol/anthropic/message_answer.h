// The answer of /v1/messages: one object, or a stream of events. A message is a list of blocks; each is
// begun, grows and is ended, and that is what a stream tells.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "server/http/exchange.h"
#include "server/protocol/anthropic/message_request.h"
#include "server/protocol/reply_handler.h"

namespace kvern::server::anthropic {

/// What both shapes share: which block a piece belongs to.
class MessageAnswer : public ReplyHandler {
 protected:
  MessageAnswer(const ProtocolContext& context, const MessageRequest& request,
                std::shared_ptr<Exchange> exchange);

  /// `usage`: of the prompt, as far as it is known.
  virtual void message_start(json::object message) = 0;
  virtual void block_start(size_t index, json::object block) = 0;
  virtual void block_delta(size_t index, json::object delta) = 0;
  virtual void block_stop(size_t index) = 0;
  /// `delta`: stop_reason and stop_sequence.
  virtual void message_end(json::object delta, json::object usage) = 0;

  void progress(const engine::PromptProgress& progress) final;
  void piece(ReplyPiece piece) final;
  void end(ReplyEnd end) final;

  const std::string& request_id() const { return exchange_->request().id; }
  const std::shared_ptr<Exchange> exchange_;

 private:
  enum class Open : uint8_t { kNone, kText, kThinking, kToolUse };
  void start(const engine::PromptProgress& prompt);
  void open(Open kind, json::object block);
  void close();
  void grow(const engine::ReplyDelta& delta);

  const std::string id_;
  const std::string model_;
  const bool omit_thinking_;
  const int64_t prompt_tokens_;
  bool started_ = false;
  Open open_ = Open::kNone;
  size_t blocks_ = 0;  // that were begun
};

/// One message.
class MessageCollector : public MessageAnswer {
 public:
  MessageCollector(const ProtocolContext& context, const MessageRequest& request,
                   std::shared_ptr<Exchange> exchange)
      : MessageAnswer(context, request, std::move(exchange)) {}

 private:
  void begin() override {}
  void message_start(json::object message) override { message_ = std::move(message); }
  void block_start(size_t index, json::object block) override;
  void block_delta(size_t index, json::object delta) override;
  void block_stop(size_t index) override;
  void message_end(json::object delta, json::object usage) override;
  void fail(const Error& error) override;

  json::object message_;
  json::array content_;
  std::string input_;  // of the tool_use that is open, as text
};

/// Server-sent events, each named by its type; pings while there is nothing to say.
class MessageStream : public MessageAnswer {
 public:
  MessageStream(const ProtocolContext& context, const MessageRequest& request,
                std::shared_ptr<Exchange> exchange)
      : MessageAnswer(context, request, std::move(exchange)) {}

 private:
  void begin() override;
  void message_start(json::object message) override;
  void block_start(size_t index, json::object block) override;
  void block_delta(size_t index, json::object delta) override;
  void block_stop(size_t index) override;
  void message_end(json::object delta, json::object usage) override;
  void fail(const Error& error) override;
  void send(const json::object& event);
};

/// The one that the request wants.
std::unique_ptr<MessageAnswer> make_message_answer(const ProtocolContext& context,
                                                   const MessageRequest& request,
                                                   std::shared_ptr<Exchange> exchange);

}  // namespace kvern::server::anthropic
