#include "server/protocol/generation_run.h"

#include <exception>
#include <string>
#include <utility>

namespace kvern::server {

/// One part's end of the queue.
class GenerationRun::PartSink : public engine::GenerationSink {
 public:
  PartSink(std::shared_ptr<GenerationRun> run, size_t part) : run_(std::move(run)), part_(part) {}
  void on_prompt(const engine::PromptProgress& progress) override { run_->push({part_, progress}); }
  void on_token(engine::TokenEvent event) override { run_->push({part_, std::move(event)}); }
  void on_choice_end(engine::ChoiceEnd end) override { run_->push({part_, std::move(end)}); }
  void on_end(const engine::RequestEnd& end) override { run_->push({part_, end}); }
  void on_error(const Error& error) override { run_->push({part_, error}); }

 private:
  std::shared_ptr<GenerationRun> run_;
  size_t part_;
};

GenerationRun::GenerationRun(std::shared_ptr<const ProtocolContext> context, size_t parts,
                             std::unique_ptr<GenerationHandler> handler)
    : context_(std::move(context)), handler_(std::move(handler)), ends_(parts) {}

Result<std::shared_ptr<GenerationRun>> GenerationRun::start(const ProtocolContext& context,
                                                            Exchange& exchange,
                                                            std::vector<engine::ServiceRequest> parts,
                                                            std::unique_ptr<GenerationHandler> handler) {
  // Not owned: it outlives everything.
  return start(std::shared_ptr<const ProtocolContext>(std::shared_ptr<void>(), &context), exchange,
               std::move(parts), std::move(handler));
}

Result<std::shared_ptr<GenerationRun>> GenerationRun::start(std::shared_ptr<const ProtocolContext> context,
                                                            Exchange& exchange,
                                                            std::vector<engine::ServiceRequest> parts,
                                                            std::unique_ptr<GenerationHandler> handler) {
  const std::shared_ptr<GenerationRun> run(new GenerationRun(context, parts.size(), std::move(handler)));
  for (size_t part = 0; part < parts.size(); ++part) {
    auto ticket = context->submit(exchange, std::move(parts[part]), std::make_shared<PartSink>(run, part));
    if (!ticket) {
      {
        const MutexLock lock(run->mutex_);
        run->refused_ = true;
        run->queue_.clear();
      }
      run->cancel();
      run->handler_.reset();
      return std::unexpected(std::move(ticket).error());
    }
    const MutexLock lock(run->mutex_);
    run->tickets_.push_back(*ticket);
  }
  run->open();
  return run;
}

void GenerationRun::cancel() {
  std::vector<engine::Ticket> tickets;
  {
    const MutexLock lock(mutex_);
    tickets = tickets_;
  }
  for (const engine::Ticket ticket : tickets) context_->service.cancel(ticket);
}

void GenerationRun::push(Event event) {
  {
    const MutexLock lock(mutex_);
    if (refused_) return;
    queue_.push_back(std::move(event));
    if (!open_ || draining_) return;
    draining_ = true;
  }
  context_->executor.post([run = shared_from_this()] { run->drain(); });
}

void GenerationRun::open() {
  {
    const MutexLock lock(mutex_);
    open_ = true;
    draining_ = true;
  }
  context_->executor.post([run = shared_from_this()] { run->drain(); });
}

void GenerationRun::drain() {
  for (;;) {
    std::deque<Event> events;
    {
      const MutexLock lock(mutex_);
      if (queue_.empty() && started_) {
        draining_ = false;
        return;
      }
      events.swap(queue_);
    }
    try {
      if (!std::exchange(started_, true)) handler_->on_start(*this);
      for (Event& event : events) handle(std::move(event));
    } catch (const std::exception& error) {
      context_->log.log(LogLevel::kError, std::string("an answer failed: ") + error.what());
      if (handler_ != nullptr) handler_->on_fault();
      handler_.reset();  // Its exchange closes the connection.
      cancel();
    }
  }
}

void GenerationRun::handle(Event event) {
  if (handler_ == nullptr) return;
  const size_t part = event.part;
  if (auto* token = std::get_if<engine::TokenEvent>(&event.what)) {
    handler_->on_token(part, std::move(*token));
  } else if (auto* end = std::get_if<engine::ChoiceEnd>(&event.what)) {
    handler_->on_choice_end(part, std::move(*end));
  } else if (const auto* progress = std::get_if<engine::PromptProgress>(&event.what)) {
    handler_->on_prompt(part, *progress);
  } else if (auto* request_end = std::get_if<engine::RequestEnd>(&event.what)) {
    ends_[part] = std::move(*request_end);
    if (++ended_ < ends_.size()) return;
    handler_->on_end(ends_);
    handler_.reset();
  } else {
    fail_run(std::get<Error>(event.what));
  }
}

void GenerationRun::fail_run(const Error& error) {
  handler_->on_error(error);
  handler_.reset();
  cancel();
}

}  // namespace kvern::server
