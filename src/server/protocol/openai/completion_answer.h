// The answer of /v1/completions, made of events: as one object, or as a stream of chunks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "server/http/exchange.h"
#include "server/protocol/context.h"
#include "server/protocol/generation_run.h"
#include "server/protocol/openai/answer_parts.h"
#include "server/protocol/openai/completion_request.h"
#include "server/protocol/openai/logprobs_json.h"

namespace kvern::server::openai {

/// Something new of one choice.
struct CompletionPiece {
  std::string text;
  json::value logprobs;  ///< null: none
  json::array token_ids;
  bool empty() const { return text.empty() && logprobs.is_null() && token_ids.empty(); }
};

/// What both shapes share.
class CompletionAnswer : public GenerationHandler {
 public:
  void on_start(GenerationRun& run) override;
  void on_token(size_t part, engine::TokenEvent event) override;
  void on_choice_end(size_t part, engine::ChoiceEnd end) override;
  void on_end(const std::vector<engine::RequestEnd>& ends) override;
  void on_error(const Error& error) override;

 protected:
  /// `request` still has its prompts.
  CompletionAnswer(const ProtocolContext& context, const CompletionRequest& request);

  virtual void begin() {}
  virtual void piece(size_t choice, CompletionPiece piece) = 0;
  virtual void choice_end(size_t choice, std::string_view finish_reason) = 0;
  virtual void end(const std::vector<engine::RequestEnd>& ends, json::object usage) = 0;
  virtual void fail(const ApiError& error) = 0;

  size_t part_of(size_t choice) const { return choice / static_cast<size_t>(n_); }

  const ProtocolContext& context_;
  const AnswerOptions answer_;
  const int32_t n_;
  const bool echo_;
  const std::vector<std::string> echoed_;
  std::vector<std::vector<engine::TokenId>> prompts_;  // with echo or return_token_ids
  const size_t choice_count_;

 private:
  size_t index_of(size_t part, int32_t choice);
  bool is_end_token(engine::TokenId token) const;

  bool ignore_end_tokens_;
  bool best_;
  std::vector<std::map<int32_t, size_t>>
      given_;  // by part: the service's choices in the order of their coming
  std::vector<std::optional<CompletionLogprobs>> logprobs_;  // by choice
  bool cancelled_ = false;
};

/// One "text_completion" object.
class CompletionCollector : public CompletionAnswer {
 public:
  CompletionCollector(const ProtocolContext& context, const CompletionRequest& request,
                      std::shared_ptr<Exchange> exchange);

 private:
  struct Choice {
    std::string text;
    json::object logprobs;
    json::array token_ids;
    std::string finish_reason;
  };
  void piece(size_t choice, CompletionPiece piece) override;
  void choice_end(size_t choice, std::string_view finish_reason) override;
  void end(const std::vector<engine::RequestEnd>& ends, json::object usage) override;
  void fail(const ApiError& error) override;
  json::object choice_json(size_t index, const std::vector<engine::RequestEnd>& ends);
  json::value prompt_logprobs(size_t part, const engine::RequestEnd& end) const;

  std::shared_ptr<Exchange> exchange_;
  std::vector<Choice> choices_;
};

/// The same objects, each with a piece of one choice's text.
class CompletionStream : public CompletionAnswer {
 public:
  CompletionStream(const ProtocolContext& context, const CompletionRequest& request,
                   std::shared_ptr<Exchange> exchange);

 private:
  void on_prompt(size_t part, const engine::PromptProgress& progress) override;
  void begin() override;
  void piece(size_t choice, CompletionPiece piece) override;
  void choice_end(size_t choice, std::string_view finish_reason) override;
  void end(const std::vector<engine::RequestEnd>& ends, json::object usage) override;
  void fail(const ApiError& error) override;

  EventStream stream_;
};

/// The one that the request wants.
std::unique_ptr<CompletionAnswer> make_completion_answer(const ProtocolContext& context,
                                                         const CompletionRequest& request,
                                                         std::shared_ptr<Exchange> exchange);

}  // namespace kvern::server::openai
