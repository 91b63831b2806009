// The answer to a request with one reply, for APIs that give one: what came, in pieces, then how it ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/request/generation_service.h"
#include "server/protocol/chat_plan.h"
#include "server/protocol/generation_run.h"
#include "server/protocol/reply_reader.h"

namespace kvern::server {

/// How a reply ended.
struct ReplyEnd {
  enum class Reason : uint8_t {
    kDone,         ///< the model ended it, or the one call that was allowed has been made
    kCalls,        ///< the same, and it calls tools
    kStopString,   ///< `stop_string`
    kTokenLimit,   ///< as many new tokens as the request allows
    kContextFull,  ///< before that
  };
  Reason reason = Reason::kDone;
  std::string stop_string;
  engine::RequestEnd usage;
  int64_t reasoning_tokens = 0;  ///< among those generated
};

/// What is new of a reply.
struct ReplyPiece {
  std::vector<engine::ReplyDelta> deltas;
  /// Of the token that brought them, if they are wanted and it is part of the text.
  std::optional<engine::TokenLogprobs> logprobs;
};

class ReplyHandler : public GenerationHandler {
 public:
  void on_start(GenerationRun& run) final;
  void on_prompt(size_t part, const engine::PromptProgress& progress) final;
  void on_token(size_t part, engine::TokenEvent event) final;
  void on_choice_end(size_t part, engine::ChoiceEnd end) final;
  void on_end(const std::vector<engine::RequestEnd>& ends) final;
  void on_error(const Error& error) final;

 protected:
  /// `plan`: of the request, which has one part and one choice. `token_limit`: what the client named, if it
  /// did.
  ReplyHandler(const ProtocolContext& context, const ChatPlan& plan, std::optional<int64_t> token_limit);

  /// The request was accepted. Before all else.
  virtual void begin() = 0;
  virtual void progress(const engine::PromptProgress& progress) { static_cast<void>(progress); }
  /// Never empty.
  virtual void piece(ReplyPiece piece) = 0;
  /// One of these two, last.
  virtual void end(ReplyEnd end) = 0;
  virtual void fail(const Error& error) = 0;

  const ProtocolContext& context_;

 private:
  bool is_end_token(engine::TokenId token) const;

  ReplyReader reader_;
  const std::optional<int64_t> token_limit_;
  int64_t tokens_ = 0;
  ReplyEnd end_;
  bool cancelled_ = false;  // by somebody else than a client that has gone
  GenerationRun* run_ = nullptr;
};

}  // namespace kvern::server
