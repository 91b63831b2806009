#include "engine/request/session.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/check.h"
#include "base/hash.h"
#include "engine/request/text_stream.h"

namespace kvern::engine {
namespace {

using TimePoint = std::chrono::steady_clock::time_point;

double milliseconds_since(TimePoint start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

bool is_cancelled(const GenerateEvents& events) { return events.is_cancelled && events.is_cancelled(); }

}  // namespace

Session::Session(Engine& engine) : engine_(engine), row_(engine.kv().add_row()) {}
Session::~Session() {
  // The row is ours, so it exists.
  KVERN_CHECK(engine_.kv().remove_row(row_).has_value());
}

Status Session::check(const GenerateRequest& request) const {
  if (request.prompt.empty())
    return fail(ErrorCode::kInvalidArgument, "is empty; give at least one token", "prompt");
  if (request.max_new_tokens < 0)
    return fail(ErrorCode::kInvalidArgument, "must not be negative", "max_new_tokens");
  const auto prompt = static_cast<int64_t>(request.prompt.size());
  if (prompt > engine_.context_tokens()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("has {} tokens, but the context holds {}; shorten it or raise the context",
                            prompt, engine_.context_tokens()),
                "prompt");
  }
  const int64_t vocabulary = engine_.model().config().vocab;
  for (const TokenId id : request.prompt) {
    if (id < 0 || id >= vocabulary) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("token {} is outside of the vocabulary of {}", id, vocabulary), "prompt");
    }
  }
  if (!request.stop.empty() && engine_.tokenizer() == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "stop strings need a tokenizer, and this model has none",
                "stop");
  }
  return validate(request.sampling, static_cast<size_t>(vocabulary));
}

Result<GenerateResult> Session::generate(const GenerateRequest& request, const GenerateEvents& events) {
  KVERN_TRY_STATUS(check(request));
  GenerateResult result;
  result.prompt_tokens = static_cast<int64_t>(request.prompt.size());
  if (request.max_new_tokens == 0) return result;
  const TimePoint start = std::chrono::steady_clock::now();
  KVERN_TRY(const std::span<float> logits, compute_prompt(request, events, result));
  result.timings.prefill_ms = milliseconds_since(start);
  if (logits.empty()) {
    result.finish_reason = FinishReason::kCancelled;
    return result;
  }
  KVERN_TRY_STATUS(decode(request, events, logits, result));
  return result;
}

// Cuts the row to its first `length` tokens. Where what their successors see is not kept any more (a window
// has moved on, the row was encoded), an empty row takes its place. How many tokens it has then.
Result<size_t> Session::cut_row(size_t length) {
  KVERN_TRY(const int64_t minimum, engine_.kv().minimum_reusable_position(row_));
  if (static_cast<int64_t>(length) >= minimum) {
    KVERN_TRY_STATUS(engine_.kv().truncate(row_, static_cast<int64_t>(length)));
    return length;
  }
  const state::RowId empty = engine_.kv().add_row();
  KVERN_TRY_STATUS(engine_.kv().remove_row(row_));
  row_ = empty;
  return size_t{0};
}

// The logits after the last prompt token; empty if cancelled.
Result<std::span<float>> Session::compute_prompt(const GenerateRequest& request, const GenerateEvents& events,
                                                 GenerateResult& result) {
  const std::vector<TokenId>& prompt = request.prompt;
  const auto differs = std::mismatch(tokens_.begin(), tokens_.end(), prompt.begin(), prompt.end());
  // The last token is always computed: its logits are what the generation starts from.
  const auto common = std::min(static_cast<size_t>(differs.first - tokens_.begin()), prompt.size() - 1);
  KVERN_TRY(const size_t reused, cut_row(common));
  tokens_.resize(reused);
  result.reused_tokens = static_cast<int64_t>(reused);

  const auto chunk_tokens = static_cast<size_t>(engine_.options().chunk_tokens);
  std::span<float> logits;
  while (tokens_.size() < prompt.size()) {
    if (is_cancelled(events)) return std::span<float>{};
    const size_t count = std::min(chunk_tokens, prompt.size() - tokens_.size());
    const std::span<const TokenId> chunk(prompt.data() + tokens_.size(), count);
    const Engine::RowTokens work{.row = row_, .tokens = chunk};
    if (tokens_.size() + count == prompt.size()) {
      KVERN_TRY(logits, engine_.forward({&work, 1}));
    } else {
      KVERN_TRY_STATUS(engine_.prefill({&work, 1}));
    }
    tokens_.insert(tokens_.end(), chunk.begin(), chunk.end());
    result.computed_tokens += static_cast<int64_t>(count);
    if (events.on_prefill) events.on_prefill(static_cast<int64_t>(tokens_.size()), result.prompt_tokens);
  }
  return logits;
}

Status Session::decode(const GenerateRequest& request, const GenerateEvents& events, std::span<float> logits,
                       GenerateResult& result) {
  KVERN_TRY(TextStream stream, TextStream::create(engine_.tokenizer(), request.prompt, request.stop));
  const auto deliver = [&](const std::string& text) {
    result.text += text;
    if (!text.empty() && events.on_text) events.on_text(text);
  };
  const TimePoint start = std::chrono::steady_clock::now();
  std::vector<TokenId> history = request.prompt;
  for (;;) {
    if (request.hash_logits) result.logit_hashes.push_back(xxh3_64(std::as_bytes(logits)));
    const SampleContext context{
        .history = history, .prompt_tokens = request.prompt.size(), .position = history.size()};
    auto drawn = sample(logits, request.sampling, context);
    if (!drawn) {
      if (drawn.error().where.empty()) drawn.error().where = engine_.options().model_path;
      return std::unexpected(std::move(drawn).error());
    }
    const SampledToken& sampled = *drawn;
    result.ids.push_back(sampled.token);
    history.push_back(sampled.token);
    if (sampled.logprob) {
      result.logprobs.push_back({.token = sampled.token, .logprob = *sampled.logprob, .top = sampled.top});
    }
    if (!request.ignore_end_tokens && std::ranges::binary_search(engine_.end_tokens(), sampled.token)) {
      result.finish_reason = FinishReason::kStop;
      break;
    }
    deliver(stream.push(sampled.token));
    if (stream.stopped()) {
      result.finish_reason = FinishReason::kStop;
      break;
    }
    // A token can be computed only while the context has room for it; sampling it needs none.
    if (static_cast<int64_t>(result.ids.size()) >= request.max_new_tokens ||
        static_cast<int64_t>(tokens_.size()) >= engine_.context_tokens()) {
      result.finish_reason = FinishReason::kLength;
      break;
    }
    if (is_cancelled(events)) {
      result.finish_reason = FinishReason::kCancelled;
      break;
    }
    const TokenId token = sampled.token;
    const Engine::RowTokens work{.row = row_, .tokens = {&token, 1}};
    KVERN_TRY(logits, engine_.forward({&work, 1}));
    tokens_.push_back(token);
  }
  deliver(stream.finish());
  result.timings.decode_ms = milliseconds_since(start);
  return Ok{};
}

}  // namespace kvern::engine
