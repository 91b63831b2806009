#include "server/protocol/openai/answer_parts.h"

#include <utility>

#include "server/http/sse.h"

namespace kvern::server::openai {

json::object answer_head(const AnswerOptions& answer, std::string_view object) {
  return {{"id", answer.id},
          {"object", object},
          {"created", answer.created},
          {"model", answer.model},
          {"system_fingerprint", answer.system_fingerprint}};
}

json::object usage_json(const std::vector<engine::RequestEnd>& ends, int64_t reasoning_tokens) {
  int64_t prompt = 0;
  int64_t cached = 0;
  int64_t generated = 0;
  for (const engine::RequestEnd& end : ends) {
    prompt += end.prompt_tokens;
    cached += end.cached_tokens;
    generated += end.generated_tokens;
  }
  return {{"prompt_tokens", prompt},
          {"completion_tokens", generated},
          {"total_tokens", prompt + generated},
          {"prompt_tokens_details", json::object{{"cached_tokens", cached}, {"audio_tokens", 0}}},
          {"completion_tokens_details", json::object{{"reasoning_tokens", reasoning_tokens},
                                                     {"audio_tokens", 0},
                                                     {"accepted_prediction_tokens", 0},
                                                     {"rejected_prediction_tokens", 0}}}};
}

std::string_view finish_reason(engine::FinishReason reason) {
  return reason == engine::FinishReason::kLength ? "length" : "stop";
}

void EventStream::start(std::chrono::milliseconds ping_after) {
  exchange_->start_stream(sse_head(ping_after));
}

json::object EventStream::chunk(json::array choices) const {
  json::object chunk = answer_head(answer_, object_);
  chunk["choices"] = std::move(choices);
  if (answer_.include_usage) chunk["usage"] = nullptr;
  return chunk;
}

void EventStream::send(std::string_view data) { exchange_->write_event(next_number_++, sse_event(data)); }

void EventStream::choice(json::object choice) {
  json::array choices;
  choices.push_back(std::move(choice));
  send(to_json(chunk(std::move(choices))));
}

void EventStream::prompt_progress(const engine::PromptProgress& progress) {
  if (!answer_.prompt_progress) return;
  json::object object = chunk({});
  object["prompt_progress"] = json::object{{"total", progress.total},
                                           {"cache", progress.cached},
                                           {"processed", progress.cached + progress.computed}};
  exchange_->write(sse_event(to_json(object)));
}

void EventStream::finish(json::object usage) {
  if (answer_.include_usage) {
    json::object last = chunk({});
    last["usage"] = std::move(usage);
    send(to_json(last));
  }
  send("[DONE]");
  exchange_->end();
}

void EventStream::fail(const ApiError& error) {
  send(to_json(error_json(error)));
  exchange_->end();
}

}  // namespace kvern::server::openai
