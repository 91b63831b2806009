// The ends of rows and requests.
#include <utility>

#include "engine/loop/batch.h"
#include "engine/loop/delivery.h"

namespace kvern::engine {
namespace {

double milliseconds(TimePoint begin, TimePoint end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

}  // namespace

void Batch::release(Row& row, AfterRow after) {
  row.open = false;
  rows_ended_ = true;
  if (row.request->settling) return;  // other choices may need its state
  storage_.release(row, after);
  ++releases_;
  steps_to_look_ = 0;  // those that rest may go on
}

void Batch::end_row(Row& row, FinishReason reason) {
  Request& request = *row.request;
  ChoiceEnd end{.choice = row.choice,
                .reason = reason,
                .text = row.text->finish(),
                .stop_string = {},
                .logit_hashes = std::move(row.hashes)};
  if (const auto stop = row.text->matched(); stop) end.stop_string = request.spec.generate.stop[*stop];
  release(row, AfterRow::kKeep);
  if (Status status = deliver_choice_end(request, std::move(end), row.logprob_sum); !status) {
    fail_request(request, std::move(status).error(), AfterRow::kKeep);
    return;
  }
  for (const auto& other : request.rows) {
    if (other->open) return;
  }
  ++stats_.requests_ended;
  end_request(request);
}

void Batch::end_request(Request& request) {
  const TimePoint now = clock_.now();
  const TimePoint first = request.first_token.value_or(now);
  const bool began = !request.rows.empty();
  const auto& replay = request.spec.replay;
  // What was generated came behind the whole prompt, wherever that was computed.
  const int64_t prompt = request.generated_tokens > 0 ? request.prompt_tokens()
                                                      : request.cached_tokens + request.computed_tokens;
  const RequestEnd end{
      .prompt_tokens = prompt,
      .cached_tokens = replay ? replay->cached_tokens.value_or(request.cached_tokens) : request.cached_tokens,
      .generated_tokens = request.generated_tokens,
      .prompt_logprobs = std::move(request.prompt_logprobs),
      .queue_ms = milliseconds(request.submitted, began ? request.started : now),
      .prefill_ms = began ? milliseconds(request.started, first) : 0,
      .decode_ms = milliseconds(first, now)};
  close(request, AfterRow::kKeep);
  before_last_event_();
  Status status = deliver_best(request);
  if (status) status = deliver_end(request, end);
  if (!status) deliver_error(request, status.error());
}

void Batch::cancel_request(Request& request) {
  ++stats_.requests_cancelled;
  for (int32_t choice = 0; choice < request.spec.choices; ++choice) {
    const auto index = static_cast<size_t>(choice);
    // Choices have rows of their own only behind their prompt.
    Row* row = index < request.rows.size() ? request.rows[index].get() : nullptr;
    if (row != nullptr && !row->open) continue;
    ChoiceEnd end{.choice = choice, .reason = FinishReason::kCancelled};
    if (row != nullptr) {
      if (generated_tokens(*row) > 0) end.text = row->text->finish();
      end.logit_hashes = std::move(row->hashes);
      release(*row, AfterRow::kKeep);
    }
    const double logprob_sum = row == nullptr ? 0 : row->logprob_sum;
    if (Status status = deliver_choice_end(request, std::move(end), logprob_sum); !status) {
      fail_request(request, std::move(status).error(), AfterRow::kKeep);
      return;
    }
  }
  end_request(request);
}

void Batch::fail_request(Request& request, Error error, AfterRow after) {
  ++stats_.requests_failed;
  close(request, after);
  before_last_event_();
  deliver_error(request, error);
}

// Nothing of it waits or holds storage any more; it is forgotten when the step is over.
void Batch::close(Request& request, AfterRow after) {
  request.done = true;
  ended_.push_back(request.ticket);
  request.settling = false;
  queue_.remove(request.spec.client, static_cast<uint64_t>(request.ticket));
  charge(request);
  for (const auto& row : request.rows) release(*row, after);
}

}  // namespace kvern::engine
