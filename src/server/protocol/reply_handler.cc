#include "server/protocol/reply_handler.h"

#include <algorithm>
#include <utility>

namespace kvern::server {

ReplyHandler::ReplyHandler(const ProtocolContext& context, const ChatPlan& plan,
                           std::optional<int64_t> token_limit)
    : context_(context), reader_(**context.chat, plan.reply), token_limit_(token_limit) {}

bool ReplyHandler::is_end_token(engine::TokenId token) const {
  return std::ranges::find(context_.engine.end_tokens(), token) != context_.engine.end_tokens().end();
}

void ReplyHandler::on_start(GenerationRun& run) {
  run_ = &run;
  begin();
}

void ReplyHandler::on_prompt(size_t, const engine::PromptProgress& progress) { this->progress(progress); }

void ReplyHandler::on_token(size_t, engine::TokenEvent event) {
  ++tokens_;
  // After the one call that was allowed there is nothing to tell.
  if (reader_.complete()) return;
  ReplyPiece piece{.deltas = reader_.push(event), .logprobs = {}};
  // A token that ends the text is not in the text.
  if (event.logprobs && !is_end_token(event.token)) piece.logprobs = std::move(event.logprobs);
  if (!piece.deltas.empty() || piece.logprobs) this->piece(std::move(piece));
  if (reader_.complete()) run_->cancel();
}

void ReplyHandler::on_choice_end(size_t, engine::ChoiceEnd end) {
  using Reason = ReplyEnd::Reason;
  const bool complete = reader_.complete();
  ReplyPiece piece{.deltas = reader_.finish(end.text), .logprobs = {}};
  if (!piece.deltas.empty()) this->piece(std::move(piece));
  cancelled_ = end.reason == engine::FinishReason::kCancelled && !complete;
  if (end.reason == engine::FinishReason::kLength && !complete) {
    end_.reason = token_limit_ && tokens_ >= *token_limit_ ? Reason::kTokenLimit : Reason::kContextFull;
  } else if (end.stop_string && !complete) {
    end_.reason = Reason::kStopString;
    end_.stop_string = *std::move(end.stop_string);
  } else {
    end_.reason = reader_.calls() > 0 ? Reason::kCalls : Reason::kDone;
  }
}

void ReplyHandler::on_end(const std::vector<engine::RequestEnd>& ends) {
  if (cancelled_) return fail({.code = ErrorCode::kCancelled, .message = "The request was cancelled."});
  end_.usage = ends.front();
  end_.reasoning_tokens = reader_.reasoning_tokens();
  end(std::move(end_));
}

void ReplyHandler::on_error(const Error& error) { fail(error); }

}  // namespace kvern::server
