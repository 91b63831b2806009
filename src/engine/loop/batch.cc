#include "engine/loop/batch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/loop/delivery.h"
#include "engine/loop/row_prefetch.h"

namespace kvern::engine {
namespace {

double seconds_between(TimePoint begin, TimePoint end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Messages for the loop wait as long.
constexpr std::chrono::milliseconds kWaitForTier{2};

LoopOptions resolve(const Engine& engine, LoopOptions options) {
  options.max_rows = std::max<int64_t>(1, options.max_rows);
  options.max_queue = std::max<int64_t>(1, options.max_queue);
  if (options.chunk_tokens == 0) options.chunk_tokens = engine.options().chunk_tokens;
  if (!options.outside_bytes) options.outside_bytes = engine.kv().options().budget_bytes / 4;
  return options;
}

}  // namespace

Batch::Batch(Engine& engine, const Clock& clock, const LoopOptions& options)
    : engine_(engine),
      clock_(clock),
      options_(resolve(engine, options)),
      checks_(engine, options_),
      storage_(engine, clock, options_) {}

Batch::~Batch() {
  cancel_all();
  end_cancelled();
  tell_tiers();
  // Left over only by fail_all().
  for (const auto& [id, request] : requests_) {
    for (const auto& row : request->rows) storage_.release(*row, AfterRow::kRemove);
  }
}

Result<Ticket> Batch::submit(ServiceRequest request, std::shared_ptr<GenerationSink> sink) {
  checks_.lower_to_what_fits(request);
  KVERN_TRY_STATUS(checks_.check(request));
  if (waiting() >= options_.max_queue) return std::unexpected(queue_full(options_.max_queue));
  const auto ticket = static_cast<Ticket>(next_ticket_++);
  enqueue(ticket, std::move(request), std::move(sink));
  return ticket;
}

void Batch::enqueue(Ticket ticket, ServiceRequest spec, std::shared_ptr<GenerationSink> sink) {
  const auto id = static_cast<uint64_t>(ticket);
  auto request = std::make_unique<Request>();
  request->ticket = ticket;
  request->gives_best = spec.best > 0;
  request->spec = std::move(spec);
  request->sink = std::move(sink);
  request->submitted = clock_.now();
  if (request->spec.choices > 1 && !request->gives_best)
    request->order_of_choices = std::make_unique<ChoiceOrder>(request->spec.choices);
  if (const auto deadline = request->spec.deadline; deadline) {
    next_deadline_ = std::min(next_deadline_.value_or(*deadline), *deadline);
  }
  charge();
  queue_.push(request->spec.client, id);
  requests_.emplace(id, std::move(request));
}

// Brings the counters of the clients up to date: needed only where the queue is asked or somebody joins it.
void Batch::charge() {
  for (const Row* row : running_) charge(*row->request);
  for (const Row* row : outside_) charge(*row->request);
}

void Batch::charge(Request& request) {
  const int64_t more = request.generated_tokens - request.charged_tokens;
  if (more == 0) return;
  request.charged_tokens += more;
  queue_.charge(request.spec.client, {.generated_tokens = more});
}

void Batch::cancel(Ticket ticket) { cancelled_.push_back(ticket); }

void Batch::cancel_all() {
  for (const auto& [id, request] : requests_) cancelled_.push_back(request->ticket);
}

void Batch::fail_all(const Error& error) {
  for (const auto& [id, request] : requests_) {
    if (!std::exchange(request->done, true)) deliver_error(*request, error);
  }
}

void Batch::end_cancelled() {
  // A receiver may cancel others meanwhile.
  for (size_t i = 0; i < cancelled_.size(); ++i) {
    const auto found = requests_.find(static_cast<uint64_t>(cancelled_[i]));
    if (found != requests_.end() && !found->second->done) cancel_request(*found->second);
  }
  cancelled_.clear();
  sweep();
}

void Batch::end_late(TimePoint now) {
  if (!next_deadline_ || now < *next_deadline_) return;
  next_deadline_.reset();
  // By ticket: a receiver may submit meanwhile, which leaves iterators of a map as they are.
  for (const auto& [id, request] : requests_) {
    const auto deadline = request->spec.deadline;
    if (!deadline || request->done) continue;
    if (now < *deadline) {
      next_deadline_ = std::min(next_deadline_.value_or(*deadline), *deadline);
      continue;
    }
    Error error{.code = ErrorCode::kExhausted,
                .message = fmt::format("the deadline passed after {} of {} prompt tokens and {} new ones",
                                       request->cached_tokens + request->computed_tokens,
                                       request->prompt_tokens(), request->generated_tokens),
                .where = std::string(kDeadline),
                .retryable = true};
    fail_request(*request, std::move(error), AfterRow::kKeep);
  }
  sweep();
}

// Forgets what has ended. Looks at what is open only when something has.
void Batch::sweep() {
  if (!std::exchange(rows_ended_, false) && ended_.empty()) return;
  const auto over = [](const Row* row) { return !row->open || row->request->done; };
  std::erase_if(running_, over);
  std::erase_if(outside_, over);
  std::erase_if(followers_, [](const Follower& follower) { return follower.request->done; });
  for (Restoring& restoring : restoring_) {
    std::erase_if(restoring.requests, [](const Request* request) { return request->done; });
  }
  releases_ += std::erase_if(restoring_, [](const Restoring& each) { return each.requests.empty(); });
  for (const Ticket ticket : ended_) requests_.erase(static_cast<uint64_t>(ticket));
  ended_.clear();
}

void Batch::step() {
  const TimePoint begin = clock_.now();
  outside_seconds_ = 0;
  end_cancelled();
  end_late(begin);
  step_tiers(begin);
  if (requests_.empty()) return;
  if (options_.hooks.before_step) options_.hooks.before_step();
  bring_in();
  start_followers();
  admit(begin);
  look_outside();
  plan_work();
  if (work_.empty()) free_for_older();
  if (work_.empty() && !restoring_.empty()) restoring_.front().restore->wait(kWaitForTier);
  if (const auto logits = compute(); logits) {
    ++stats_.steps;
    advance(*logits);
    const TimePoint sampling = clock_.now();
    sample_rows(engine_.compute(), tasks_);
    const double sampled = seconds_between(sampling, clock_.now());
    stats_.sample_seconds += sampled;
    outside_seconds_ += sampled;
    for_each_fetched(std::span(tasks_), &SampleTask::row, [this](SampleTask& task) { deliver(task); });
    for (Request* request : splitting_) settle_split(*request);
  }
  sweep();
  if (running_.empty()) tell_tiers();
  stats_.schedule_seconds += seconds_between(begin, clock_.now()) - outside_seconds_;
}

}  // namespace kvern::engine
