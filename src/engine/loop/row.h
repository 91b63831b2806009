// What the loop knows of a request and of its rows. Plain data; the steps are in batch_*.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/loop/choice_order.h"
#include "engine/request/generation_service.h"
#include "engine/request/text_stream.h"
#include "engine/schedule/admission.h"
#include "engine/schedule/plan.h"
#include "state/sequence/kv_cache.h"
#include "text/grammar/grammar.h"

namespace kvern::engine {

using TimePoint = std::chrono::steady_clock::time_point;

struct Request;

/// One choice of a request. Its state is in the batch (`kv`), outside (`image`) or nowhere yet.
struct Row {
  // What a step reads and writes of a row stands together, at its beginning (row_prefetch.h).
  Request* request = nullptr;  ///< owns this
  std::optional<state::RowId> kv;
  std::vector<TokenId> tokens;  ///< the prompt, then what was sampled
  int64_t held = 0;             ///< how many of them its state holds: all but the last once it decodes
  int64_t prompt_tokens = 0;    ///< how many of them are the prompt
  int64_t max_new_tokens = 0;   ///< GenerateRequest::max_new_tokens
  int32_t choice = 0;
  bool open = true;  ///< no ChoiceEnd yet
  bool stops_at_end_token = true;
  bool shares_end = false;  ///< its last tokens are where another row has them, too, until it writes
  bool rests = false;       ///< computes nothing: what it would take might find no place outside
  int64_t advanced_tokens = kTokensBetweenMoves;  ///< MovableRow::advanced_tokens
  double logprob_sum = 0;
  std::optional<TextStream> text;  ///< always there
  std::optional<text::GrammarState> grammar;

  SamplingParams sampling;  ///< with a seed of its own
  /// Shared by the choices that wait outside since their prompt was computed.
  std::shared_ptr<const state::RowImage> image;
  PromptTurn turn;
  text::TokenMask allowed;  ///< by the grammar, for the token that is being sampled
  std::vector<uint64_t> hashes;

  std::span<const TokenId> held_tokens() const { return std::span(tokens).first(static_cast<size_t>(held)); }
  int64_t pending_tokens() const { return static_cast<int64_t>(tokens.size()) - held; }
};

/// What is given out of one choice when only the best are.
struct HeldBack {
  std::vector<TokenEvent> tokens;
  ChoiceEnd end;
  double logprob_sum = 0;
};

/// As of a row, what each token reads and writes stands at the beginning.
struct Request {
  std::shared_ptr<GenerationSink> sink;
  int64_t generated_tokens = 0;
  std::optional<TimePoint> first_token;
  bool done = false;   ///< on_end or on_error was called
  bool split = false;  ///< the prompt is computed, and the choices have rows of their own
  /// In the step that splits it: the first row still holds the state of all of them.
  bool settling = false;
  bool asked_tiers = false;                       ///< for the beginning of its prompt: once
  bool gives_best = false;                        ///< ServiceRequest::best
  std::unique_ptr<ChoiceOrder> order_of_choices;  ///< with several choices that are all given out
  Ticket ticket{};
  uint64_t order = 0;      ///< of admission: the age of its rows
  size_t final_bytes = 0;  ///< Standing::final_bytes; of one that has begun

  ServiceRequest spec;
  TimePoint submitted;
  TimePoint started;
  int64_t cached_tokens = 0;
  int64_t doubted_tokens = 0;  ///< what was cached when it had to start over
  int64_t computed_tokens = 0;
  int64_t charged_tokens = 0;  ///< of the generated ones, what the queue's counter has
  std::vector<TokenLogprobs> prompt_logprobs;

  /// One row until the prompt is computed, then one for each choice.
  std::vector<std::unique_ptr<Row>> rows;
  std::vector<HeldBack> held_back;  ///< by choice, with `best`

  int64_t prompt_tokens() const { return static_cast<int64_t>(spec.generate.prompt.size()); }
};

/// A row with tokens to be computed that nothing is sampled for: of its prompt, or of a replay.
inline bool in_prefill(const Row& row) { return row.held < row.prompt_tokens || row.pending_tokens() > 1; }
inline int64_t generated_tokens(const Row& row) {
  return static_cast<int64_t>(row.tokens.size()) - row.prompt_tokens;
}
/// Places in the batch that a row takes: those of all choices until they have rows of their own.
inline int64_t places_of(const Row& row) { return row.request->split ? 1 : row.request->spec.choices; }

}  // namespace kvern::engine
