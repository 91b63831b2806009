#include "server/protocol/kv/prompt_run.h"

#include <utility>

namespace kvern::server::kv {
namespace {

using Then = std::function<void(const Result<engine::RequestEnd>&)>;

/// Hands the end over to the executor.
class PromptSink final : public engine::GenerationSink {
 public:
  PromptSink(Executor& executor, Then then) : executor_(executor), then_(std::move(then)) {}

  void on_token(engine::TokenEvent /*event*/) override {}
  void on_choice_end(engine::ChoiceEnd end) override {
    cancelled_ = end.reason == engine::FinishReason::kCancelled;
  }
  void on_end(const engine::RequestEnd& end) override {
    if (cancelled_) return finish(fail(ErrorCode::kCancelled, "the request was cancelled"));
    finish(end);
  }
  void on_error(const Error& error) override { finish(std::unexpected(error)); }

 private:
  void finish(Result<engine::RequestEnd> result) {
    executor_.post([then = std::move(then_), result = std::move(result)] { then(result); });
  }

  Executor& executor_;
  Then then_;
  bool cancelled_ = false;
};

}  // namespace

void run_prompt(const ProtocolContext& context, Executor& executor, const std::shared_ptr<Exchange>& exchange,
                PromptRun run, std::function<void(const Result<engine::RequestEnd>&)> then) {
  engine::ServiceRequest request;
  request.generate.prompt = std::move(run.tokens);
  request.generate.max_new_tokens = 0;
  request.cache_namespace = std::move(run.salt);
  const auto submitted =
      context.submit(*exchange, std::move(request), std::make_shared<PromptSink>(executor, then));
  if (!submitted) then(std::unexpected(submitted.error()));
}

}  // namespace kvern::server::kv
