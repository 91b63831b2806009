#include "engine/loop/engine_loop.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "engine/tiers/flush.h"

namespace kvern::engine {
namespace {

// The list of rows is long when many requests wait, and looked at by people.
constexpr std::chrono::milliseconds kRowsInterval{20};

Error stopped_error() {
  return {.code = ErrorCode::kCancelled,
          .message = "the engine is being stopped",
          .where = {},
          .retryable = false};
}

Error faulty_error(const std::string& what) {
  return {.code = ErrorCode::kInternal,
          .message = "the engine's loop has failed: " + what,
          .where = {},
          .retryable = false};
}

}  // namespace

EngineLoop::EngineLoop(Engine& engine, const Clock& clock, const LoopOptions& options)
    : engine_(engine),
      clock_(clock),
      max_queue_(std::max<int64_t>(1, options.max_queue)),
      tiers_(options.tiers.tiers),
      batch_(std::make_unique<Batch>(engine, clock, options)) {
  stats_ = batch_->stats();
  batch_->before_last_events([this] { publish_stats(); });
  thread_ = std::thread([this] { run(); });
}

EngineLoop::~EngineLoop() {
  stop(StopMode::kCancel);
  thread_.join();
}

Status EngineLoop::health() const {
  {
    const MutexLock lock(mutex_);
    if (faulty_) return std::unexpected(faulty_error("no request can run any more"));
  }
  return engine_.check_weights();
}

Result<Ticket> EngineLoop::submit(ServiceRequest request, std::shared_ptr<GenerationSink> sink) {
  KVERN_TRY_STATUS(health());
  batch_->checks().lower_to_what_fits(request);
  KVERN_TRY_STATUS(batch_->checks().check(request));
  const MutexLock lock(mutex_);
  if (inbox_.stop || ended_) return std::unexpected(stopped_error());
  if (waiting_ + static_cast<int64_t>(inbox_.submitted.size()) >= max_queue_)
    return std::unexpected(queue_full(max_queue_));
  const auto ticket = static_cast<Ticket>(next_ticket_++);
  inbox_.submitted.push_back({ticket, std::move(request), std::move(sink)});
  wake_.notify_one();
  return ticket;
}

void EngineLoop::cancel(Ticket ticket) {
  const MutexLock lock(mutex_);
  inbox_.cancelled.push_back(ticket);
  wake_.notify_one();
}

void EngineLoop::stop(StopMode mode) {
  const MutexLock lock(mutex_);
  if (inbox_.stop != StopMode::kCancel) inbox_.stop = mode;
  wake_.notify_one();
}

bool EngineLoop::wait_stopped(std::optional<std::chrono::milliseconds> timeout) {
  const MutexLock lock(mutex_);
  if (!timeout) {
    while (!ended_) ended_signal_.wait(mutex_);
    return true;
  }
  const auto until = std::chrono::steady_clock::now() + *timeout;
  while (!ended_) {
    if (ended_signal_.wait_until(mutex_, until) == std::cv_status::timeout) break;
  }
  return ended_;
}

ServiceStats EngineLoop::stats() const {
  const bool weights = engine_.check_weights().has_value();
  const MutexLock lock(mutex_);
  ServiceStats stats = stats_;
  stats.healthy = weights && !faulty_;
  return stats;
}

std::vector<RowInfo> EngineLoop::rows() const {
  const MutexLock lock(mutex_);
  return rows_;
}

std::vector<TierReport> EngineLoop::tiers() const {
  const std::vector<RestoreCounts> restores = stats().restores;
  std::vector<TierReport> reports;
  reports.reserve(tiers_.size());
  for (size_t i = 0; i < tiers_.size(); ++i) {
    reports.push_back(
        {.stats = tiers_[i].tier->stats(), .restores = i < restores.size() ? restores[i] : RestoreCounts()});
  }
  return reports;
}

Result<FlushReport> EngineLoop::flush(std::chrono::steady_clock::time_point deadline) {
  if (tiers_.empty()) return GenerationService::flush(deadline);
  if (std::ranges::none_of(tiers_, &LoopTier::saves)) {
    return fail(ErrorCode::kUnsupported,
                "saved prefixes are only read here, from where others save them: nothing is saved");
  }
  KVERN_TRY_STATUS(health());
  TierFlush tiers(tiers_, stats().prefixes_lost);
  TierFlush::Offered offered;
  {
    const MutexLock lock(mutex_);
    const uint64_t number = ++inbox_.flushes;
    wake_.notify_one();
    while (!ended_ && flushes_done_ < number) {
      if (flushed_signal_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
    }
    if (flushes_done_ < number && ended_) return std::unexpected(stopped_error());
    offered = {.lost = stats_.prefixes_lost, .left = flushes_done_ < number ? 1U : 0U, .kept = to_be_saved_};
  }
  return tiers.finish(deadline, offered);
}

// Nothing has come, and the batch has nothing to do.
bool EngineLoop::is_quiet() const {
  return idle_ && inbox_.submitted.empty() && inbox_.cancelled.empty() && !inbox_.stop &&
         inbox_.flushes == flushes_begun_;
}

// Waits until there is something to do. The stop order stays.
EngineLoop::Inbox EngineLoop::receive() {
  const MutexLock lock(mutex_);
  while (is_quiet()) {
    if (!next_step_) {
      wake_.wait(mutex_);
      continue;
    }
    const auto wait = *next_step_ - clock_.now();
    if (wait.count() <= 0 || wake_.wait_for(mutex_, wait) == std::cv_status::timeout) break;
  }
  Inbox inbox{.submitted = std::exchange(inbox_.submitted, {}),
              .cancelled = std::exchange(inbox_.cancelled, {}),
              .stop = inbox_.stop,
              .flushes = inbox_.flushes};
  waiting_ += static_cast<int64_t>(inbox.submitted.size());
  return inbox;
}

void EngineLoop::publish_stats() {
  const ServiceStats stats = batch_->stats();
  const MutexLock lock(mutex_);
  stats_ = stats;
}

void EngineLoop::publish() {
  publish_stats();
  const TimePoint now = clock_.now();
  std::optional<std::vector<RowInfo>> rows;
  if (batch_->idle() || now - rows_published_ >= kRowsInterval) {
    rows = batch_->rows();
    rows_published_ = now;
  }
  const MutexLock lock(mutex_);
  if (rows) rows_.swap(*rows);
  waiting_ = batch_->waiting();
  idle_ = batch_->idle();
  next_step_ = batch_->next_step();
  if (flushes_done_ != flushes_begun_ && !batch_->saves_left()) {
    flushes_done_ = flushes_begun_;
    to_be_saved_ = batch_->to_be_saved();
    flushed_signal_.notify_all();
  }
}

// False when the loop is over.
bool EngineLoop::run_once() {
  Inbox inbox = receive();
  for (Mail& mail : inbox.submitted) {
    batch_->enqueue(mail.ticket, std::move(mail.request), std::move(mail.sink));
  }
  for (const Ticket ticket : inbox.cancelled) batch_->cancel(ticket);
  if (inbox.stop == StopMode::kCancel) batch_->cancel_all();
  if (std::exchange(flushes_begun_, inbox.flushes) != inbox.flushes) batch_->begin_flush();
  batch_->step();
  publish();
  return !(inbox.stop && batch_->idle());
}

void EngineLoop::run() {
  std::string fault;
  try {
    while (run_once()) {
    }
    end(nullptr);
    return;
  } catch (const std::exception& error) {
    fault = error.what();
  } catch (...) {
    fault = "an unknown exception";
  }
  const Error error = faulty_error(fault);
  end(&error);
}

// Nothing is run any more; whoever still waits is told.
void EngineLoop::end(const Error* fault) {
  std::vector<Mail> unread;
  {
    const MutexLock lock(mutex_);
    faulty_ = fault != nullptr;
    unread = std::exchange(inbox_.submitted, {});
  }
  if (fault != nullptr) batch_->fail_all(*fault);
  const Error error = fault != nullptr ? *fault : stopped_error();
  for (const Mail& mail : unread) {
    try {
      mail.sink->on_error(error);
    } catch (...) {  // nobody's to hear
    }
  }
  const MutexLock lock(mutex_);
  ended_ = true;
  ended_signal_.notify_all();
  flushed_signal_.notify_all();
}

}  // namespace kvern::engine
