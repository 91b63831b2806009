#include "engine/loop/request_check.h"

#include <fmt/format.h>

#include "base/check.h"
#include "engine/loop/row_storage.h"
#include "engine/request/text_stream.h"
#include "engine/schedule/admission.h"
#include "text/grammar/grammar.h"

namespace kvern::engine {
namespace {

// Of prompt_logprobs, as of top_logprobs: more than any API offers.
constexpr uint32_t kMostPromptLogprobs = 1024;

double mebibytes(size_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

}  // namespace

RequestCheck::RequestCheck(const Engine& engine, const LoopOptions& options)
    : engine_(engine), max_rows_(options.max_rows) {
  auto made = state::KvCache::create(engine.kv().spec(), engine.kv().options());
  KVERN_CHECK(made.has_value());  // the engine's was made of the same
  projection_ = *std::move(made);
}

Status RequestCheck::check(const ServiceRequest& request) const {
  const GenerateRequest& generate = request.generate;
  KVERN_TRY_STATUS(check_prompt(generate.prompt));
  if (generate.max_new_tokens < 0)
    return fail(ErrorCode::kInvalidArgument, "must not be negative", "max_new_tokens");
  if (!generate.stop.empty()) {
    if (engine_.tokenizer() == nullptr) {
      return fail(ErrorCode::kInvalidArgument, "stop strings need a tokenizer, and this model has none",
                  "stop");
    }
    KVERN_TRY([[maybe_unused]] const StopMatcher matcher, StopMatcher::create(generate.stop));
  }
  const auto vocabulary = static_cast<size_t>(engine_.model().config().vocab);
  KVERN_TRY_STATUS(validate(generate.sampling, vocabulary));
  if (request.prompt_logprobs && *request.prompt_logprobs > kMostPromptLogprobs) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("is more than {}", kMostPromptLogprobs),
                "prompt_logprobs");
  }
  if (request.grammar && request.grammar->vocabulary().size() != vocabulary) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("was made for {} tokens, but the model has {}",
                            request.grammar->vocabulary().size(), vocabulary),
                "grammar");
  }
  KVERN_TRY_STATUS(check_choices(request));
  if (request.replay) KVERN_TRY_STATUS(check_replay(request));
  return check_memory(request);
}

Status RequestCheck::check_prompt(const std::vector<TokenId>& prompt) const {
  if (prompt.empty()) return fail(ErrorCode::kInvalidArgument, "is empty; give at least one token", "prompt");
  const auto length = static_cast<int64_t>(prompt.size());
  if (length > engine_.context_tokens()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("has {} tokens, but the context holds {}; shorten it or raise the context",
                            length, engine_.context_tokens()),
                "prompt");
  }
  Status tokens = engine_.check_tokens(prompt);
  if (!tokens) tokens.error().where = "prompt";
  return tokens;
}

Status RequestCheck::check_choices(const ServiceRequest& request) const {
  if (request.choices < 1 || request.choices > max_rows_) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} is not between 1 and {}, the most rows at a time", request.choices, max_rows_),
        "choices");
  }
  if (request.best < 0 || request.best > request.choices) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} is not between 0 and {}, the number of choices", request.best, request.choices),
        "best");
  }
  return Ok{};
}

Status RequestCheck::check_replay(const ServiceRequest& request) const {
  if (std::ssize(request.replay->choices) > request.choices)
    return fail(ErrorCode::kInvalidArgument, "has tokens of more choices than there are", "replay");
  const bool logprobs = request.generate.sampling.top_logprobs.has_value() || request.best > 0;
  for (const auto& choice : request.replay->choices) {
    for (const ReplayedToken& token : choice) {
      Status known = engine_.check_tokens(std::span(&token.sampled.token, 1));
      if (!known) {
        known.error().where = "replay";
        return known;
      }
      if (logprobs && !token.sampled.logprob)
        return fail(ErrorCode::kInvalidArgument, "lacks log-probabilities, which are wanted", "replay");
    }
  }
  return Ok{};
}

void RequestCheck::lower_to_what_fits(ServiceRequest& request) const {
  const size_t budget = engine_.kv().options().budget_bytes;
  if (!request.as_long_as_fits || budget == 0 || request.generate.max_new_tokens < 0) return;
  // When not even the prompt fits, the refusal says so.
  if (const auto most = most_new_tokens(projection(), demand_of(request), budget); most.value_or(0) > 0)
    request.generate.max_new_tokens = *most;
}

Demand RequestCheck::demand_of(const ServiceRequest& request) const {
  return {.prompt_tokens = static_cast<int64_t>(request.generate.prompt.size()),
          .max_new_tokens = request.generate.max_new_tokens,
          .context_tokens = engine_.context_tokens(),
          .choices = request.choices};
}

Projection RequestCheck::projection() const { return projection_of(*projection_); }

Status RequestCheck::check_memory(const ServiceRequest& request) const {
  const size_t budget = engine_.kv().options().budget_bytes;
  if (budget == 0) return Ok{};
  const Demand demand = demand_of(request);
  const size_t needed = least_bytes(projection(), demand);
  if (needed <= budget) return Ok{};
  const auto most = most_new_tokens(projection(), demand, budget);
  return fail(
      ErrorCode::kExhausted,
      fmt::format("{} prompt tokens and {} new ones in {} choices need {:.1f} MiB of keys and values, but "
                  "the budget is {:.1f} MiB; {}",
                  demand.prompt_tokens, demand.max_new_tokens, demand.choices, mebibytes(needed),
                  mebibytes(budget),
                  most ? fmt::format("ask for at most {} new tokens, or raise the budget", *most)
                       : "shorten the prompt, or raise the budget"),
      "max_new_tokens");
}

Error queue_full(int64_t max_queue) {
  return {.code = ErrorCode::kExhausted,
          .message = fmt::format("{} requests wait already; try again later", max_queue),
          .where = "queue",
          .retryable = true};
}

}  // namespace kvern::engine
