#include "server/protocol/openai/chat_answer.h"

#include <algorithm>
#include <utility>

#include "server/protocol/openai/errors.h"
#include "server/protocol/openai/logprobs_json.h"

namespace kvern::server::openai {
namespace {

using Kind = engine::ReplyDelta::Kind;

json::value logprobs_json(json::array tokens, bool wanted) {
  if (!wanted) return nullptr;
  return json::object{{"content", std::move(tokens)}, {"refusal", nullptr}};
}

json::array to_array(const std::vector<engine::TokenId>& tokens) {
  return json::array(tokens.begin(), tokens.end());
}

void append(json::value& target, std::string_view text) { target.as_string().append(text); }

void append(json::array& target, json::array&& more) {
  for (json::value& value : more) target.push_back(std::move(value));
}

/// Appends to a member that is a string, or makes it one.
void append_member(json::object& object, std::string_view name, std::string_view text) {
  json::value& value = object[name];
  if (!value.is_string()) value = "";
  append(value, text);
}

}  // namespace

ChatAnswer::ChatAnswer(const ProtocolContext& context, const ChatRequest& request)
    : context_(context),
      answer_(request.answer),
      choice_count_(static_cast<size_t>(request.service.choices)),
      prompt_(request.answer.return_token_ids ? request.service.generate.prompt
                                              : std::vector<engine::TokenId>()),
      ignore_end_tokens_(request.service.generate.ignore_end_tokens),
      choices_(choice_count_, Choice(**context.chat, request.reply)) {}

bool ChatAnswer::is_end_token(engine::TokenId token) const {
  return !ignore_end_tokens_ &&
         std::ranges::find(context_.engine.end_tokens(), token) != context_.engine.end_tokens().end();
}

void ChatAnswer::on_start(GenerationRun& run) {
  run_ = &run;
  begin();
}

void ChatAnswer::on_token(size_t, engine::TokenEvent event) {
  const auto index = static_cast<size_t>(event.choice);
  Choice& choice = choices_.at(index);
  // After the one call that was allowed there is nothing to tell.
  if (choice.reader.complete()) return;
  ChatPiece piece;
  piece.deltas = choice.reader.push(event);
  // A token that ends the text is not in the text.
  if (event.logprobs && !is_end_token(event.token))
    piece.logprobs.push_back(chat_logprob(*event.logprobs, (*context_.chat)->tokenizer()));
  if (answer_.return_token_ids) piece.token_ids.push_back(event.token);
  if (!piece.empty()) this->piece(index, std::move(piece));
  const bool all_complete = choice.reader.complete() && std::ranges::all_of(choices_, [](const Choice& c) {
                              return c.reader.complete();
                            });
  if (all_complete) run_->cancel();
}

void ChatAnswer::on_choice_end(size_t, engine::ChoiceEnd end) {
  const auto index = static_cast<size_t>(end.choice);
  ReplyReader& reader = choices_.at(index).reader;
  const bool complete = reader.complete();
  ChatPiece piece;
  piece.deltas = reader.finish(end.text);
  if (!piece.empty()) this->piece(index, std::move(piece));
  if (end.reason == engine::FinishReason::kCancelled && !complete) {
    cancelled_ = true;
    return;
  }
  const bool called = reader.calls() > 0 && (complete || end.reason != engine::FinishReason::kLength);
  choice_end(index, called ? "tool_calls" : finish_reason(end.reason));
}

void ChatAnswer::on_end(const std::vector<engine::RequestEnd>& ends) {
  if (cancelled_) return on_error({.code = ErrorCode::kCancelled, .message = "The request was cancelled."});
  int64_t reasoning_tokens = 0;
  for (const Choice& choice : choices_) reasoning_tokens += choice.reader.reasoning_tokens();
  end(usage_json(ends, reasoning_tokens));
}

void ChatAnswer::on_error(const Error& error) { fail(run_error(error)); }

const std::string& ChatAnswer::call_id(size_t choice, size_t call) {
  std::vector<std::string>& ids = choices_[choice].call_ids;
  while (ids.size() <= call) ids.push_back(new_call_id(context_, "call_"));
  return ids[call];
}

ChatCollector::ChatCollector(const ProtocolContext& context, const ChatRequest& request,
                             std::shared_ptr<Exchange> exchange)
    : ChatAnswer(context, request), exchange_(std::move(exchange)), messages_(choice_count_) {}

void ChatCollector::piece(size_t choice, ChatPiece piece) {
  Message& message = messages_[choice];
  for (const engine::ReplyDelta& delta : piece.deltas) {
    switch (delta.kind) {
      case Kind::kContent:
        message.content += delta.text;
        break;
      case Kind::kReasoning:
        message.reasoning += delta.text;
        break;
      case Kind::kCallBegin:
        message.tool_calls.push_back(json::object{{"id", call_id(choice, delta.call)},
                                                  {"type", "function"},
                                                  {"function", {{"name", delta.text}, {"arguments", ""}}}});
        break;
      case Kind::kCallArguments:
        append(message.tool_calls.back().at("function").at("arguments"), delta.text);
        break;
    }
  }
  append(message.logprobs, std::move(piece.logprobs));
  append(message.token_ids, std::move(piece.token_ids));
}

void ChatCollector::choice_end(size_t choice, std::string_view finish_reason) {
  messages_[choice].finish_reason = finish_reason;
}

json::object ChatCollector::choice_json(size_t index) {
  Message& message = messages_[index];
  json::object body{{"role", "assistant"}, {"content", message.content}, {"refusal", nullptr}};
  if (message.content.empty() && !message.tool_calls.empty()) body["content"] = nullptr;
  if (!message.reasoning.empty()) body["reasoning_content"] = message.reasoning;
  if (!message.tool_calls.empty()) body["tool_calls"] = std::move(message.tool_calls);
  json::object choice{
      {"index", index},
      {"message", std::move(body)},
      {"logprobs", logprobs_json(std::move(message.logprobs), answer_.top_logprobs.has_value())},
      {"finish_reason", message.finish_reason}};
  if (answer_.return_token_ids) choice["token_ids"] = std::move(message.token_ids);
  return choice;
}

void ChatCollector::end(json::object usage) {
  json::object body = answer_head(answer_, "chat.completion");
  json::array choices;
  for (size_t index = 0; index < messages_.size(); ++index) choices.push_back(choice_json(index));
  body["choices"] = std::move(choices);
  body["usage"] = std::move(usage);
  body["service_tier"] = "default";
  body["seed"] = answer_.seed;
  if (answer_.return_token_ids) body["prompt_token_ids"] = to_array(prompt_);
  exchange_->respond({.body = to_json(body)});
}

void ChatCollector::fail(const ApiError& error) { exchange_->respond(error_response(error)); }

ChatStream::ChatStream(const ProtocolContext& context, const ChatRequest& request,
                       std::shared_ptr<Exchange> exchange)
    : ChatAnswer(context, request), stream_(std::move(exchange), answer_, "chat.completion.chunk") {}

ChatStream::ChatStream(const ProtocolContext& context, const ChatRequest& request, std::shared_ptr<Run> run)
    : ChatAnswer(context, request), run_(run), stream_(std::move(run), answer_, "chat.completion.chunk") {}

void ChatStream::on_fault() {
  if (run_) run_->abandon();
}

void ChatStream::on_prompt(size_t, const engine::PromptProgress& progress) {
  stream_.prompt_progress(progress);
}

void ChatStream::begin() {
  stream_.start(context_.limits.ping_after);
  for (size_t index = 0; index < choice_count_; ++index) {
    json::object choice{{"index", index},
                        {"delta", {{"role", "assistant"}, {"content", ""}, {"refusal", nullptr}}},
                        {"logprobs", nullptr},
                        {"finish_reason", nullptr}};
    if (answer_.return_token_ids && index == 0) choice["prompt_token_ids"] = to_array(prompt_);
    stream_.choice(std::move(choice));
  }
}

json::object ChatStream::delta_json(size_t choice, const std::vector<engine::ReplyDelta>& deltas) {
  json::object result;
  json::array calls;
  for (const engine::ReplyDelta& delta : deltas) {
    switch (delta.kind) {
      case Kind::kContent:
        append_member(result, "content", delta.text);
        break;
      case Kind::kReasoning:
        append_member(result, "reasoning_content", delta.text);
        break;
      case Kind::kCallBegin:
        calls.push_back(json::object{{"index", delta.call},
                                     {"id", call_id(choice, delta.call)},
                                     {"type", "function"},
                                     {"function", {{"name", delta.text}, {"arguments", ""}}}});
        break;
      case Kind::kCallArguments:
        if (calls.empty()) calls.push_back({{"index", delta.call}, {"function", {{"arguments", ""}}}});
        append(calls.back().at("function").at("arguments"), delta.text);
        break;
    }
  }
  if (!calls.empty()) result["tool_calls"] = std::move(calls);
  return result;
}

void ChatStream::piece(size_t choice, ChatPiece piece) {
  const bool logprobs = answer_.top_logprobs && !piece.logprobs.empty();
  json::object object{{"index", choice},
                      {"delta", delta_json(choice, piece.deltas)},
                      {"logprobs", logprobs_json(std::move(piece.logprobs), logprobs)},
                      {"finish_reason", nullptr}};
  if (answer_.return_token_ids) object["token_ids"] = std::move(piece.token_ids);
  stream_.choice(std::move(object));
}

void ChatStream::choice_end(size_t choice, std::string_view finish_reason) {
  stream_.choice({{"index", choice},
                  {"delta", json::object{}},
                  {"logprobs", nullptr},
                  {"finish_reason", finish_reason},
                  {"seed", answer_.seed}});
}

void ChatStream::end(json::object usage) { stream_.finish(std::move(usage)); }
void ChatStream::fail(const ApiError& error) { stream_.fail(error); }

std::unique_ptr<ChatAnswer> make_chat_answer(const ProtocolContext& context, const ChatRequest& request,
                                             std::shared_ptr<Exchange> exchange) {
  if (request.answer.stream) return std::make_unique<ChatStream>(context, request, std::move(exchange));
  return std::make_unique<ChatCollector>(context, request, std::move(exchange));
}

}  // namespace kvern::server::openai
