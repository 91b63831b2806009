// What the answers of both APIs have in common: heads, usage, streams.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/request/generation_service.h"
#include "server/http/exchange.h"
#include "server/http/http_error.h"
#include "server/protocol/openai/generation_fields.h"

namespace kvern::server::openai {

/// {"id", "object", "created", "model", "system_fingerprint"}: what every answer and chunk begins with.
json::object answer_head(const AnswerOptions& answer, std::string_view object);

/// Tokens of all parts. `prompt_tokens` = cached + computed ones, counted once for each prompt; reasoning
/// tokens are among the completion's.
json::object usage_json(const std::vector<engine::RequestEnd>& ends, int64_t reasoning_tokens);

/// "stop", "length": what a client reads as finish_reason.
std::string_view finish_reason(engine::FinishReason reason);

/// Server-sent events of one answer, numbered from 0 on, but for reports of progress: those come as the
/// machine has time. One thread.
class EventStream {
 public:
  EventStream(std::shared_ptr<Exchange> exchange, const AnswerOptions& answer, std::string_view object)
      : exchange_(std::move(exchange)), answer_(answer), object_(object) {}
  /// Sends the head of the answer at once.
  void start(std::chrono::milliseconds ping_after);
  /// One chunk with one choice.
  void choice(json::object choice);
  /// {"total", "cache", "processed"}: llama-server's report of how far the prompt is; sent only if asked for.
  void prompt_progress(const engine::PromptProgress& progress);
  /// The usage, if asked for, then [DONE].
  void finish(json::object usage);
  /// An error instead of the rest: no [DONE] follows, so that nobody takes the answer for complete.
  void fail(const ApiError& error);

 private:
  json::object chunk(json::array choices) const;
  void send(std::string_view data);

  std::shared_ptr<Exchange> exchange_;
  const AnswerOptions& answer_;
  std::string_view object_;
  uint64_t next_number_ = 0;
};

}  // namespace kvern::server::openai
