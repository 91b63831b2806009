// The answer of /v1/chat/completions, made of events: as one object, or as a stream of chunks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "engine/chat/reply_parser.h"
#include "server/http/exchange.h"
#include "server/protocol/context.h"
#include "server/protocol/generation_run.h"
#include "server/protocol/openai/answer_parts.h"
#include "server/protocol/openai/chat_request.h"
#include "server/protocol/reply_reader.h"
#include "server/protocol/runs/run.h"

namespace kvern::server::openai {

/// Something new of one choice.
struct ChatPiece {
  std::vector<engine::ReplyDelta> deltas;
  json::array logprobs;
  json::array token_ids;
  bool empty() const { return deltas.empty() && logprobs.empty() && token_ids.empty(); }
};

/// What both shapes share: takes replies apart, so that a stream's chunks, joined, are the one object.
class ChatAnswer : public GenerationHandler {
 public:
  void on_start(GenerationRun& run) override;
  void on_token(size_t part, engine::TokenEvent event) override;
  void on_choice_end(size_t part, engine::ChoiceEnd end) override;
  void on_end(const std::vector<engine::RequestEnd>& ends) override;
  void on_error(const Error& error) override;

 protected:
  ChatAnswer(const ProtocolContext& context, const ChatRequest& request);

  virtual void begin() = 0;
  virtual void piece(size_t choice, ChatPiece piece) = 0;
  virtual void choice_end(size_t choice, std::string_view finish_reason) = 0;
  virtual void end(json::object usage) = 0;
  virtual void fail(const ApiError& error) = 0;

  /// The same for every piece of one call.
  const std::string& call_id(size_t choice, size_t call);

  const ProtocolContext& context_;
  const AnswerOptions answer_;
  const size_t choice_count_;
  const std::vector<engine::TokenId> prompt_;  // only with return_token_ids

 private:
  struct Choice {
    Choice(const engine::ChatFormat& chat, const engine::ReplyFormat& format) : reader(chat, format) {}
    ReplyReader reader;
    std::vector<std::string> call_ids;
  };
  bool is_end_token(engine::TokenId token) const;

  bool ignore_end_tokens_;
  std::vector<Choice> choices_;
  bool cancelled_ = false;  // by somebody else than a client that has gone
  GenerationRun* run_ = nullptr;
};

/// One "chat.completion" object.
class ChatCollector : public ChatAnswer {
 public:
  ChatCollector(const ProtocolContext& context, const ChatRequest& request,
                std::shared_ptr<Exchange> exchange);

 private:
  struct Message {
    std::string content;
    std::string reasoning;
    json::array tool_calls;
    json::array logprobs;
    json::array token_ids;
    std::string finish_reason;
  };
  void begin() override {}
  void piece(size_t choice, ChatPiece piece) override;
  void choice_end(size_t choice, std::string_view finish_reason) override;
  void end(json::object usage) override;
  void fail(const ApiError& error) override;
  json::object choice_json(size_t index);

  std::shared_ptr<Exchange> exchange_;
  std::vector<Message> messages_;
};

/// "chat.completion.chunk" events.
class ChatStream : public ChatAnswer {
 public:
  ChatStream(const ProtocolContext& context, const ChatRequest& request, std::shared_ptr<Exchange> exchange);
  /// Of a run, which gets all events, whoever reads them.
  ChatStream(const ProtocolContext& context, const ChatRequest& request, std::shared_ptr<Run> run);

 private:
  void on_prompt(size_t part, const engine::PromptProgress& progress) override;
  void on_fault() override;
  void begin() override;
  void piece(size_t choice, ChatPiece piece) override;
  void choice_end(size_t choice, std::string_view finish_reason) override;
  void end(json::object usage) override;
  void fail(const ApiError& error) override;
  json::object delta_json(size_t choice, const std::vector<engine::ReplyDelta>& deltas);

  const std::shared_ptr<Run> run_;  // or null
  EventStream stream_;
};

/// The one that the request wants.
std::unique_ptr<ChatAnswer> make_chat_answer(const ProtocolContext& context, const ChatRequest& request,
                                             std::shared_ptr<Exchange> exchange);

}  // namespace kvern::server::openai
