// What becomes of the logits of a step.
#include <algorithm>
#include <exception>
#include <utility>

#include "engine/loop/batch.h"
#include "engine/loop/delivery.h"
#include "engine/loop/row_prefetch.h"

namespace kvern::engine {

void Batch::advance(std::span<float> logits) {
  tasks_.clear();
  splitting_.clear();
  const auto vocabulary = static_cast<size_t>(engine_.model().config().vocab);
  for_each_fetched(std::span<const Work>(work_), &Work::row, [&](const Work& work) {
    Row& row = *work.row;
    const Engine::Logits wanted = logits_of(work);
    const auto count = static_cast<size_t>(wanted == Engine::Logits::kNone  ? 0
                                           : wanted == Engine::Logits::kAll ? work.tokens
                                                                            : 1);
    const std::span<float> mine = logits.first(count * vocabulary);
    logits = logits.subspan(count * vocabulary);
    const bool prompt = in_prefill(row);
    row.held += work.tokens;
    row.shares_end = false;
    row.advanced_tokens += work.tokens;
    if (row.request->done) return;  // a receiver failed at another choice of it
    if (!prompt) {
      add_task(row, mine, LogitUse::kOwn);
    } else if (Status status = advance_prompt(row, work.tokens, mine); !status) {
      fail_request(*row.request, std::move(status).error());
    }
  });
}

Status Batch::advance_prompt(Row& row, int64_t computed, std::span<float> logits) {
  Request& request = *row.request;
  row.turn.advance(computed);
  const int64_t before = row.held - computed;
  if (before < row.prompt_tokens) {
    const int64_t of_prompt = std::min(row.held, row.prompt_tokens) - before;
    request.computed_tokens += of_prompt;
    count_prompt(request, 0, of_prompt);
    storage_.has_grown(row);
    if (request.spec.prompt_logprobs) KVERN_TRY_STATUS(read_prompt_logprobs(row, computed, logits));
    KVERN_TRY_STATUS(deliver_prompt(request));
  }
  if (row.pending_tokens() > 0) return Ok{};
  const auto vocabulary = static_cast<size_t>(engine_.model().config().vocab);
  const std::span<float> last = logits.last(std::min(vocabulary, logits.size()));
  if (!request.split) return split(row, last);
  add_task(row, last, LogitUse::kOwn);
  return Ok{};
}

Status Batch::read_prompt_logprobs(Row& row, int64_t computed, std::span<const float> logits) {
  Request& request = *row.request;
  const auto vocabulary = static_cast<size_t>(engine_.model().config().vocab);
  // The logits of each token say how likely the one after it was; the last one has none after it.
  const auto first = static_cast<size_t>(row.held - computed) + 1;
  const auto count = std::min(static_cast<size_t>(computed), request.spec.generate.prompt.size() - first);
  const auto targets = std::span<const TokenId>(request.spec.generate.prompt).subspan(first, count);
  KVERN_TRY(std::vector<TokenLogprobs> read,
            prompt_logprobs(engine_.compute(), logits.first(count * vocabulary), targets,
                            *request.spec.prompt_logprobs));
  std::ranges::move(read, std::back_inserter(request.prompt_logprobs));
  return Ok{};
}

// The prompt is computed: from here on each choice has a row, and all of them sample from the same logits.
Status Batch::split(Row& row, std::span<float> logits) {
  Request& request = *row.request;
  request.split = request.settling = true;
  splitting_.push_back(&request);
  for (int32_t choice = 1; choice < request.spec.choices; ++choice) {
    KVERN_TRY_STATUS(prepare(request));
    Row& other = *request.rows.back();
    other.choice = choice;
    other.sampling.seed = choice_seed(row.sampling.seed, choice);
  }
  if (request.spec.generate.max_new_tokens == 0) return Ok{};  // they end when it is settled
  if (request.rows.size() == 1) {
    add_task(row, logits, LogitUse::kOwn);
    return Ok{};
  }
  replay(request);
  for (const auto& each : request.rows) {
    if (generated_tokens(*each) == 0) add_task(*each, logits, LogitUse::kShared);
  }
  return Ok{};
}

void Batch::add_task(Row& row, std::span<float> logits, LogitUse use) {
  SampleTask task{.row = &row, .logits = logits, .shared = use == LogitUse::kShared, .token = {}, .hash = {}};
  if (options_.hooks.before_sampling) {
    try {
      options_.hooks.before_sampling(row.request->ticket, row.choice, logits);
    } catch (const std::exception& error) {
      task.token = fail(ErrorCode::kInternal, error.what());
    }
  }
  tasks_.push_back(std::move(task));
}

void Batch::deliver(SampleTask& task) {
  Row& row = *task.row;
  Request& request = *row.request;
  if (!row.open || request.done) return;
  if (!task.token) {
    Error error = std::move(task.token).error();
    if (start_over(row, error)) return;
    if (error.where.empty()) error.where = engine_.options().model_path;
    fail_request(request, std::move(error));
    return;
  }
  if (request.doubted_tokens > 0) storage_.distrust(row, std::exchange(request.doubted_tokens, 0));
  if (!request.first_token) request.first_token = clock_.now();
  ++stats_.generated_tokens;
  accept_token(row, {.sampled = *std::move(task.token), .logit_hash = task.hash}, TokenOrigin::kSampled);
}

// Logits that are no numbers may come of a beginning that was kept or saved: whole, and no good. The prompt
// is computed once more without it. When that goes well, nobody gets that beginning again; else it is the
// model's fault. Of several choices some may have gone on already: they fail, and the next request starts
// over.
bool Batch::start_over(Row& row, const Error& error) {
  Request& request = *row.request;
  if (error.code != ErrorCode::kCorrupt || request.cached_tokens == 0) return false;
  const int64_t doubted = std::exchange(request.cached_tokens, 0);
  storage_.forget(row, doubted);
  if (request.rows.size() > 1) {
    storage_.distrust(row, doubted);
    return false;
  }
  request.doubted_tokens = doubted;
  request.computed_tokens = 0;
  storage_.start_over(row);
  return true;
}

void Batch::accept_token(Row& row, ReplayedToken token, TokenOrigin origin) {
  Request& request = *row.request;
  SampledToken& sampled = token.sampled;
  row.tokens.push_back(sampled.token);
  if (token.logit_hash) row.hashes.push_back(*token.logit_hash);
  ++request.generated_tokens;
  const bool is_end =
      row.stops_at_end_token && std::ranges::binary_search(engine_.end_tokens(), sampled.token);
  if (row.grammar && !row.grammar->accept(sampled.token)) {
    fail_request(request, {.code = ErrorCode::kInternal,
                           .message = "the grammar does not take a token that it has allowed",
                           .where = "grammar",
                           .retryable = false});
    return;
  }
  TokenEvent event{.choice = row.choice,
                   .token = sampled.token,
                   .text = {},
                   .logprobs = {},
                   .replayed = origin == TokenOrigin::kReplayed};
  if (!is_end) event.text = row.text->push(sampled.token);
  if (sampled.logprob) {
    row.logprob_sum += double{*sampled.logprob};
    event.logprobs =
        TokenLogprobs{.token = sampled.token, .logprob = *sampled.logprob, .top = std::move(sampled.top)};
  }
  const auto reason = finish_reason(row, is_end);
  const Follows follows = reason ? Follows::kEnd : Follows::kToken;
  if (Status status = deliver_token(request, std::move(event), follows); !status) {
    fail_request(request, std::move(status).error(), AfterRow::kKeep);
    return;
  }
  if (reason) end_row(row, *reason);
}

std::optional<FinishReason> Batch::finish_reason(const Row& row, bool is_end) const {
  if (is_end || row.text->stopped()) return FinishReason::kStop;
  if (row.grammar && row.grammar->finished()) return FinishReason::kStop;
  // A token can be computed only while the context has room for it; sampling it needs none.
  const auto length = static_cast<int64_t>(row.tokens.size());
  if (generated_tokens(row) >= row.max_new_tokens || length > engine_.context_tokens()) {
    return FinishReason::kLength;
  }
  return std::nullopt;
}

// The choices that go on get rows of their own; those that ended with their first token never need one.
void Batch::settle_split(Request& request) {
  request.settling = false;
  if (request.done) return;
  if (request.spec.generate.max_new_tokens == 0) {
    for (const auto& row : request.rows) {
      if (!request.done) end_row(*row, FinishReason::kLength);
    }
    return;
  }
  std::vector<Row*> open;
  for (const auto& row : request.rows) {
    if (row->open) open.push_back(row.get());
  }
  Row& first = *request.rows.front();
  Row& source = *open.front();
  if (&source != &first) {
    storage_.hand_over(first, source);
    join(source);
  }
  const std::span<Row* const> others = std::span(open).subspan(1);
  if (Status status = storage_.fork(source, others, [&] { return give_way_to(request); }); !status) {
    fail_request(request, std::move(status).error());
    return;
  }
  for (Row* row : others) {
    if (row->kv) {
      join(*row);
      continue;
    }
    ++stats_.moved_out;
    insert_outside(*row);
  }
}

}  // namespace kvern::engine
