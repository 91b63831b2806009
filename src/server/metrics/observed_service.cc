#include "server/metrics/observed_service.h"

#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "base/mutex.h"

namespace kvern::server {

using engine::ChoiceEnd;
using engine::FinishReason;
using engine::RequestEnd;
using engine::Ticket;

/// The requests that have not ended.
struct ObservedService::Open {
  mutable Mutex mutex;
  bool refusing KVERN_GUARDED_BY(mutex) = false;
  std::atomic<bool> ending{false};  // sinks turn ends of any kind into an error
  uint64_t next KVERN_GUARDED_BY(mutex) = 0;
  /// The ticket is known when submit() has returned; the request may have ended by then.
  std::map<uint64_t, std::optional<Ticket>> requests KVERN_GUARDED_BY(mutex);
};

/// On the loop's thread, as every sink.
class ObservedService::Sink : public engine::GenerationSink {
 public:
  struct Parts {
    std::shared_ptr<engine::GenerationSink> inner;
    const Clock& clock;
    ServiceMetrics& metrics;
    std::shared_ptr<Open> open;
    uint64_t number = 0;
  };
  explicit Sink(Parts parts) : parts_(std::move(parts)), start_(parts_.clock.now()) {}

  void on_prompt(const engine::PromptProgress& progress) override {
    if (!parts_.open->ending) parts_.inner->on_prompt(progress);
  }

  void on_token(engine::TokenEvent event) override {
    if (event.replayed) {
      // The process that sampled it has timed it.
      first_token_ = start_;
      if (!parts_.open->ending) parts_.inner->on_token(std::move(event));
      return;
    }
    const TimePoint now = parts_.clock.now();
    if (!first_token_) {
      first_token_ = now;
      parts_.metrics.time_to_first_token.observe(seconds(now - start_));
    }
    const auto [last, is_first] = last_token_.try_emplace(event.choice, now);
    if (!is_first) {
      const double gap = seconds(now - std::exchange(last->second, now));
      parts_.metrics.inter_token_latency.observe(gap);
      gaps_sum_ += gap;
      ++gaps_;
    }
    if (!parts_.open->ending) parts_.inner->on_token(std::move(event));
  }

  void on_choice_end(ChoiceEnd end) override {
    if (parts_.open->ending) return;
    switch (end.reason) {
      case FinishReason::kStop:
        parts_.metrics.ended_by_stop.add();
        break;
      case FinishReason::kLength:
        parts_.metrics.ended_by_length.add();
        break;
      case FinishReason::kCancelled:
        parts_.metrics.ended_by_abort.add();
        break;
    }
    parts_.inner->on_choice_end(std::move(end));
  }

  void on_end(const RequestEnd& end) override {
    forget();
    if (parts_.open->ending) {
      return fail(
          {.code = ErrorCode::kCancelled, .message = "the server is shutting down", .retryable = true});
    }
    ServiceMetrics& metrics = parts_.metrics;
    metrics.e2e_latency.observe(seconds(parts_.clock.now() - start_));
    metrics.queue_time.observe(end.queue_ms / 1000);
    metrics.prefill_time.observe(end.prefill_ms / 1000);
    metrics.decode_time.observe(end.decode_ms / 1000);
    metrics.inference_time.observe((end.prefill_ms + end.decode_ms) / 1000);
    metrics.prompt_tokens.observe(static_cast<double>(end.prompt_tokens));
    metrics.generation_tokens.observe(static_cast<double>(end.generated_tokens));
    if (gaps_ > 0) metrics.time_per_output_token.observe(gaps_sum_ / static_cast<double>(gaps_));
    parts_.inner->on_end(end);
  }

  void on_error(const Error& error) override {
    forget();
    fail(error);
  }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  static double seconds(TimePoint::duration time) { return std::chrono::duration<double>(time).count(); }

  void fail(const Error& error) {
    parts_.metrics.ended_by_error.add();
    parts_.inner->on_error(error);
  }
  void forget() {
    const MutexLock lock(parts_.open->mutex);
    parts_.open->requests.erase(parts_.number);
  }

  const Parts parts_;
  const TimePoint start_;
  std::optional<TimePoint> first_token_;
  std::map<int32_t, TimePoint> last_token_;  // by choice
  double gaps_sum_ = 0;
  int64_t gaps_ = 0;
};

ObservedService::ObservedService(engine::GenerationService& inner, const Clock& clock,
                                 ServiceMetrics& metrics)
    : inner_(inner), clock_(clock), metrics_(metrics), open_(std::make_shared<Open>()) {}

ObservedService::~ObservedService() = default;

Result<Ticket> ObservedService::submit(engine::ServiceRequest request,
                                       std::shared_ptr<engine::GenerationSink> sink) {
  uint64_t number = 0;
  {
    const MutexLock lock(open_->mutex);
    if (open_->refusing) {
      metrics_.refused.add();
      return std::unexpected<Error>(Error{.code = ErrorCode::kExhausted,
                                          .message = "the server is shutting down",
                                          .where = {},
                                          .retryable = true});
    }
    number = open_->next++;
    open_->requests.emplace(number, std::nullopt);
  }
  const int32_t choices = request.choices;
  const int64_t max_tokens = request.generate.max_new_tokens;
  auto ticket = inner_.submit(
      std::move(request),
      std::make_shared<Sink>(Sink::Parts{
          .inner = std::move(sink), .clock = clock_, .metrics = metrics_, .open = open_, .number = number}));
  bool ending = false;
  {
    const MutexLock lock(open_->mutex);
    const auto found = open_->requests.find(number);
    if (found != open_->requests.end()) {
      if (ticket) {
        found->second = *ticket;
      } else {
        open_->requests.erase(found);
      }
    }
    ending = open_->ending;
  }
  if (!ticket) {
    metrics_.refused.add();
    return ticket;
  }
  metrics_.choices.observe(choices);
  metrics_.max_tokens.observe(static_cast<double>(max_tokens));
  if (ending) inner_.cancel(*ticket);
  return ticket;
}

void ObservedService::refuse_new() {
  const MutexLock lock(open_->mutex);
  open_->refusing = true;
}

void ObservedService::end_all() {
  refuse_new();
  std::vector<Ticket> tickets;
  {
    const MutexLock lock(open_->mutex);
    open_->ending = true;
    for (const auto& [number, ticket] : open_->requests)
      if (ticket) tickets.push_back(*ticket);
  }
  for (const Ticket ticket : tickets) inner_.cancel(ticket);
}

int64_t ObservedService::open() const {
  const MutexLock lock(open_->mutex);
  return static_cast<int64_t>(open_->requests.size());
}

}  // namespace kvern::server
