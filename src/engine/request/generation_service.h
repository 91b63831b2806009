// The seam between the world (server, batch files, programs) and the loop that runs the model: requests go
// in, events come out. Plain values and two small interfaces, so that a protocol can be tested without a
// model and the loop without a protocol.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/request/request.h"
#include "engine/request/tier_report.h"

namespace kvern::text {
class Grammar;
}

namespace kvern::engine {

/// `where` of the error of a request whose deadline has passed.
inline constexpr std::string_view kDeadline = "deadline";

/// A token that was sampled in a process which has ended, for a request that goes on here.
struct ReplayedToken {
  SampledToken sampled;                ///< with its log-probabilities where they are wanted
  std::optional<uint64_t> logit_hash;  ///< with hash_logits, where it was kept
};

/// What a process that has ended had done of a request.
struct Replay {
  /// By choice, from the first token on; shorter lists, or fewer of them, where less was kept. What is
  /// missing is sampled again, and is the same.
  std::vector<std::vector<ReplayedToken>> choices;
  /// What was taken of the prompt from kept prefixes then; nothing: the request had not begun.
  std::optional<int64_t> cached_tokens;
};

/// A request among others. The tokens, texts and log-probabilities that it gets depend on `generate`,
/// `choices`, `grammar` and the model alone; everything else decides when.
struct ServiceRequest {
  GenerateRequest generate;
  /// generate.max_new_tokens is a bound that nobody asked for: it is lowered to what fits alone, where a
  /// number that was asked for would be refused.
  bool as_long_as_fits = false;
  /// Sequences that go on from the one prompt. Choice i samples with the seed choice_seed(sampling.seed, i);
  /// choice 0 is what the request with one choice gives.
  int32_t choices = 1;
  /// Of `choices`, only this many, those of the highest mean log-probability, are given out (when all have
  /// ended; nothing is streamed then), the best as choice 0. 0 = all, in their own order.
  int32_t best = 0;
  /// Restricts every choice to texts of this grammar. Shared, immutable. Null = free.
  std::shared_ptr<const text::Grammar> grammar;
  /// Log-probabilities of the prompt's tokens too, with as many most likely ones (as sampling.top_logprobs).
  std::optional<uint32_t> prompt_logprobs;
  /// Whose turn it is: the fairness rule shares service between clients, not requests. Any text.
  std::string client;
  /// Prefixes are shared only among requests of one namespace. Any text.
  std::string cache_namespace;
  /// Use prefixes that are kept, and keep this one's. Never changes what comes out.
  bool reuse_prefix = true;
  /// The request goes on from here. Its sink gets all events of an undisturbed run, those of these tokens
  /// first; counters have them as replayed, since the other process has counted them.
  std::optional<Replay> replay;
  /// The request fails with kExhausted (`where` is kDeadline) when it has not ended by then, waiting
  /// included.
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

/// How far the prompt is. cached + computed <= total; equal when the first token is sampled.
struct PromptProgress {
  int64_t total = 0;
  int64_t cached = 0;  ///< taken from a kept prefix
  int64_t computed = 0;
};

/// One new token of one choice.
struct TokenEvent {
  int32_t choice = 0;
  TokenId token = 0;
  /// Text that has become certain: complete UTF-8, no part of a stop string; often empty.
  std::string text;
  std::optional<TokenLogprobs> logprobs;  ///< with sampling.top_logprobs
  bool replayed = false;                  ///< it was sampled in a process that has ended
};

/// The end of one choice. No TokenEvent of it follows.
struct ChoiceEnd {
  int32_t choice = 0;
  FinishReason reason = FinishReason::kStop;
  std::string text;                        ///< what was held back, to be added
  std::optional<std::string> stop_string;  ///< the one that ended it
  std::vector<uint64_t> logit_hashes;      ///< with hash_logits
};

/// The end of a request that ran. prompt_tokens = cached + computed, also with several choices; it is the
/// length of the prompt unless the request was cancelled before that.
struct RequestEnd {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t generated_tokens = 0;                ///< of all choices, those not given out too
  std::vector<TokenLogprobs> prompt_logprobs;  ///< one for each prompt token but the first
  double queue_ms = 0;                         ///< from submit to the first step
  double prefill_ms = 0;                       ///< from there to the first sampled token
  double decode_ms = 0;                        ///< from there to the end
};

/// Receives what happens to one request: any number of on_prompt, then on_token and on_choice_end, at last
/// exactly one of on_end and on_error. The order of tokens and ends of choices depends on the tokens alone:
/// the first token of each choice, then the second of each, and an end right behind its last token. Called on
/// the loop's thread, between steps: it must hand over and return at once. What it throws ends this request
/// alone.
class GenerationSink {
 public:
  virtual ~GenerationSink() = default;
  virtual void on_prompt(const PromptProgress& progress) { static_cast<void>(progress); }
  virtual void on_token(TokenEvent event) = 0;
  virtual void on_choice_end(ChoiceEnd end) = 0;
  /// Also after a cancel: choices that had not ended end with FinishReason::kCancelled first.
  virtual void on_end(const RequestEnd& end) = 0;
  /// The request failed: nothing more comes, and no other request is touched.
  virtual void on_error(const Error& error) = 0;
};

/// Names a submitted request; never used again in this process.
enum class Ticket : uint64_t {};

/// Counters since the start, and what is there now. For metrics; a copy.
struct ServiceStats {
  // counters
  uint64_t steps = 0;
  uint64_t requests_ended = 0;
  uint64_t requests_failed = 0;
  uint64_t requests_cancelled = 0;
  uint64_t prompt_tokens = 0;  ///< cached + computed
  uint64_t cached_tokens = 0;
  uint64_t computed_tokens = 0;
  uint64_t generated_tokens = 0;
  uint64_t requests_resumed = 0;  ///< with a replay
  uint64_t replayed_tokens = 0;   ///< not among the generated ones
  uint64_t moved_out = 0;         ///< rows taken out of the running batch for want of memory
  uint64_t moved_in = 0;
  uint64_t prefix_queries = 0;  ///< tokens of prompts looked up
  uint64_t prefix_evictions = 0;
  uint64_t prefixes_lost = 0;           ///< of these, not saved although there are tiers for it
  std::vector<RestoreCounts> restores;  ///< by tier
  double step_seconds = 0;              ///< in forward passes
  double sample_seconds = 0;            ///< in sampling, grammars included
  double schedule_seconds = 0;          ///< in all the rest of steps: planning, bookkeeping, delivery
  // now
  int64_t running = 0;    ///< rows in the batch
  int64_t waiting = 0;    ///< requests that wait for their first step
  int64_t restoring = 0;  ///< of these, what waits for a tier
  int64_t outside = 0;    ///< rows moved out
  int64_t prefix_entries = 0;
  size_t kv_budget_bytes = 0;
  size_t kv_live_bytes = 0;    ///< of running rows and kept prefixes, shared ones once
  size_t kv_shared_bytes = 0;  ///< what sharing saves
  size_t kv_slack_bytes = 0;
  size_t kv_saving_bytes = 0;  ///< of rows that are being saved
  size_t outside_bytes = 0;
  size_t outside_limit_bytes = 0;  ///< 0 also without a budget: then nothing has to move out
  bool healthy = true;             ///< false when GenerationService::health() is an error
};

/// One row as an operator sees it.
struct RowInfo {
  Ticket ticket{};
  int32_t choice = 0;
  std::string state;  ///< "waiting", "restoring", "prefill", "decode", "outside"
  int64_t prompt_tokens = 0;
  int64_t computed_tokens = 0;  ///< of the prompt, cached ones included
  int64_t generated_tokens = 0;
};

/// Thread-safe.
class GenerationService {
 public:
  virtual ~GenerationService() = default;
  /// Errors at once: kInvalidArgument for a request that cannot run (`where` names the field: prompt,
  /// max_new_tokens, stop, temperature, ...; a prompt longer than the context names both numbers), kExhausted
  /// when it could not fit alone (not retryable) or the queue is full (retryable). Else the sink gets the
  /// rest, and may already have got some of it when this returns.
  virtual Result<Ticket> submit(ServiceRequest request, std::shared_ptr<GenerationSink> sink) = 0;
  /// Ends a request within one step; its storage is free then. One that has ended or never was is ignored.
  virtual void cancel(Ticket ticket) = 0;
  virtual ServiceStats stats() const = 0;
  virtual std::vector<RowInfo> rows() const = 0;
  /// An error when no request can run any more, with the reason. Quick enough to be asked for every request.
  virtual Status health() const { return Ok{}; }

  /// Where prefixes are kept beyond memory, the nearest first. May wait for a look into an index.
  virtual std::vector<TierReport> tiers() const { return {}; }
  /// Saves every prefix that is kept, and waits for that; what comes meanwhile need not be saved. An error
  /// when there is nothing to save to, or nobody to do it any more. From any thread but the loop's.
  virtual Result<FlushReport> flush(std::chrono::steady_clock::time_point deadline);
};

/// The seed of choice i of a request with this seed: the seed itself for i = 0.
uint64_t choice_seed(uint64_t seed, int32_t choice);

}  // namespace kvern::engine
