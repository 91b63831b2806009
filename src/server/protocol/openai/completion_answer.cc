#include "server/protocol/openai/completion_answer.h"

#include <algorithm>
#include <utility>

#include "server/protocol/openai/errors.h"

namespace kvern::server::openai {
namespace {

constexpr std::string_view kObject = "text_completion";

std::vector<std::vector<engine::TokenId>> kept_prompts(const CompletionRequest& request) {
  std::vector<std::vector<engine::TokenId>> prompts(request.parts.size());
  if (!request.echo && !request.answer.return_token_ids) return prompts;
  for (size_t part = 0; part < prompts.size(); ++part) prompts[part] = request.parts[part].generate.prompt;
  return prompts;
}

/// Appends the arrays of one logprobs object to those of another.
void append_logprobs(json::object& target, json::value more) {
  if (more.is_null()) return;
  for (auto& item : more.as_object()) {
    json::value& array = target[item.key()];
    if (!array.is_array()) array = json::array{};
    for (json::value& value : item.value().as_array()) array.as_array().push_back(std::move(value));
  }
}

}  // namespace

CompletionAnswer::CompletionAnswer(const ProtocolContext& context, const CompletionRequest& request)
    : context_(context),
      answer_(request.answer),
      n_(request.n),
      echo_(request.echo),
      echoed_(request.prompts),
      prompts_(kept_prompts(request)),
      choice_count_(request.parts.size() * static_cast<size_t>(request.n)),
      ignore_end_tokens_(request.parts.front().generate.ignore_end_tokens),
      best_(request.parts.front().best > 0),
      given_(request.parts.size()),
      logprobs_(choice_count_) {
  const text::Tokenizer* tokenizer = context.engine.tokenizer();
  if (!answer_.top_logprobs || tokenizer == nullptr) return;
  for (size_t choice = 0; choice < choice_count_; ++choice)
    logprobs_[choice].emplace(*tokenizer, echo_ ? count_characters(echoed_[part_of(choice)]) : 0);
}

/// The place of a choice in the answer. The best of many come out in their order; their numbers have gaps.
size_t CompletionAnswer::index_of(size_t part, int32_t choice) {
  const size_t first = part * static_cast<size_t>(n_);
  if (!best_) return first + static_cast<size_t>(choice);
  return first + given_[part].emplace(choice, given_[part].size()).first->second;
}

bool CompletionAnswer::is_end_token(engine::TokenId token) const {
  return !ignore_end_tokens_ &&
         std::ranges::find(context_.engine.end_tokens(), token) != context_.engine.end_tokens().end();
}

void CompletionAnswer::on_start(GenerationRun&) { begin(); }

void CompletionAnswer::on_token(size_t part, engine::TokenEvent event) {
  const size_t index = index_of(part, event.choice);
  CompletionPiece piece{.text = std::move(event.text)};
  if (event.logprobs && logprobs_.at(index) && !is_end_token(event.token)) {
    logprobs_[index]->add(*event.logprobs);
    piece.logprobs = logprobs_[index]->take();
  }
  if (answer_.return_token_ids) piece.token_ids.push_back(event.token);
  if (!piece.empty()) this->piece(index, std::move(piece));
}

void CompletionAnswer::on_choice_end(size_t part, engine::ChoiceEnd end) {
  const size_t index = index_of(part, end.choice);
  if (!end.text.empty()) piece(index, {.text = std::move(end.text)});
  if (end.reason == engine::FinishReason::kCancelled) {
    cancelled_ = true;
    return;
  }
  choice_end(index, finish_reason(end.reason));
}

void CompletionAnswer::on_end(const std::vector<engine::RequestEnd>& ends) {
  if (cancelled_) return on_error({.code = ErrorCode::kCancelled, .message = "The request was cancelled."});
  end(ends, usage_json(ends, 0));
}

void CompletionAnswer::on_error(const Error& error) { fail(run_error(error)); }

CompletionCollector::CompletionCollector(const ProtocolContext& context, const CompletionRequest& request,
                                         std::shared_ptr<Exchange> exchange)
    : CompletionAnswer(context, request), exchange_(std::move(exchange)), choices_(choice_count_) {}

void CompletionCollector::piece(size_t choice, CompletionPiece piece) {
  Choice& target = choices_.at(choice);
  target.text += piece.text;
  append_logprobs(target.logprobs, std::move(piece.logprobs));
  for (json::value& id : piece.token_ids) target.token_ids.push_back(std::move(id));
}

void CompletionCollector::choice_end(size_t choice, std::string_view finish_reason) {
  choices_.at(choice).finish_reason = finish_reason;
}

json::value CompletionCollector::prompt_logprobs(size_t part, const engine::RequestEnd& end) const {
  CompletionLogprobs logprobs(*context_.engine.tokenizer(), 0);
  logprobs.add_first(prompts_[part].front());
  for (const engine::TokenLogprobs& token : end.prompt_logprobs) logprobs.add(token);
  return logprobs.take();
}

json::object CompletionCollector::choice_json(size_t index, const std::vector<engine::RequestEnd>& ends) {
  Choice& choice = choices_[index];
  const size_t part = part_of(index);
  json::object logprobs;
  if (answer_.top_logprobs && context_.engine.tokenizer() != nullptr) {
    if (echo_) append_logprobs(logprobs, prompt_logprobs(part, ends[part]));
    append_logprobs(logprobs, std::move(choice.logprobs));
  }
  json::object object{{"text", (echo_ ? echoed_[part] : "") + choice.text},
                      {"index", index},
                      {"logprobs", nullptr},
                      {"finish_reason", choice.finish_reason}};
  if (!logprobs.empty()) object["logprobs"] = std::move(logprobs);
  if (!answer_.return_token_ids) return object;
  object["token_ids"] = std::move(choice.token_ids);
  object["prompt_token_ids"] = json::array(prompts_[part].begin(), prompts_[part].end());
  return object;
}

void CompletionCollector::end(const std::vector<engine::RequestEnd>& ends, json::object usage) {
  json::object body = answer_head(answer_, kObject);
  json::array choices;
  for (size_t index = 0; index < choices_.size(); ++index) choices.push_back(choice_json(index, ends));
  body["choices"] = std::move(choices);
  body["usage"] = std::move(usage);
  body["seed"] = answer_.seed;
  exchange_->respond({.body = to_json(body)});
}

void CompletionCollector::fail(const ApiError& error) { exchange_->respond(error_response(error)); }

CompletionStream::CompletionStream(const ProtocolContext& context, const CompletionRequest& request,
                                   std::shared_ptr<Exchange> exchange)
    : CompletionAnswer(context, request), stream_(std::move(exchange), answer_, kObject) {}

void CompletionStream::on_prompt(size_t, const engine::PromptProgress& progress) {
  stream_.prompt_progress(progress);
}

void CompletionStream::begin() {
  stream_.start(context_.limits.ping_after);
  for (size_t choice = 0; echo_ && choice < choice_count_; ++choice) {
    if (!echoed_[part_of(choice)].empty()) piece(choice, {.text = echoed_[part_of(choice)]});
  }
}

void CompletionStream::piece(size_t choice, CompletionPiece piece) {
  json::object object{{"text", piece.text},
                      {"index", choice},
                      {"logprobs", std::move(piece.logprobs)},
                      {"finish_reason", nullptr}};
  if (answer_.return_token_ids) object["token_ids"] = std::move(piece.token_ids);
  stream_.choice(std::move(object));
}

void CompletionStream::choice_end(size_t choice, std::string_view finish_reason) {
  stream_.choice({{"text", ""},
                  {"index", choice},
                  {"logprobs", nullptr},
                  {"finish_reason", finish_reason},
                  {"seed", answer_.seed}});
}

void CompletionStream::end(const std::vector<engine::RequestEnd>&, json::object usage) {
  stream_.finish(std::move(usage));
}

void CompletionStream::fail(const ApiError& error) { stream_.fail(error); }

std::unique_ptr<CompletionAnswer> make_completion_answer(const ProtocolContext& context,
                                                         const CompletionRequest& request,
                                                         std::shared_ptr<Exchange> exchange) {
  if (request.answer.stream) return std::make_unique<CompletionStream>(context, request, std::move(exchange));
  return std::make_unique<CompletionCollector>(context, request, std::move(exchange));
}

}  // namespace kvern::server::openai
