#include "engine/loop/session.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace kvern::engine {
namespace {

/// Puts events together to a result.
class Collector final : public GenerationSink {
 public:
  Collector(GenerateResult& result, const GenerateEvents& events) : result_(result), events_(events) {}

  void on_prompt(const PromptProgress& progress) override {
    result_.reused_tokens = progress.cached;
    result_.computed_tokens = progress.computed;
    if (events_.on_prefill) events_.on_prefill(progress.cached + progress.computed, progress.total);
  }
  void on_token(TokenEvent event) override {
    result_.ids.push_back(event.token);
    if (event.logprobs) result_.logprobs.push_back(std::move(*event.logprobs));
    add(event.text);
  }
  void on_choice_end(ChoiceEnd end) override {
    result_.finish_reason = end.reason;
    result_.logit_hashes = std::move(end.logit_hashes);
    add(end.text);
  }
  void on_end(const RequestEnd& end) override {
    result_.timings = {.prefill_ms = end.prefill_ms, .decode_ms = end.decode_ms};
    result_.reused_tokens = end.cached_tokens;
    result_.computed_tokens = end.prompt_tokens - end.cached_tokens;
  }
  void on_error(const Error& error) override { error_ = error; }

  const std::optional<Error>& error() const { return error_; }

 private:
  void add(const std::string& text) {
    result_.text += text;
    if (!text.empty() && events_.on_text) events_.on_text(text);
  }

  GenerateResult& result_;
  const GenerateEvents& events_;
  std::optional<Error> error_;
};

LoopOptions one_row(TierOptions tiers) {
  LoopOptions options{.max_rows = 1, .max_queue = 1};
  options.prefix.max_bytes = std::numeric_limits<size_t>::max();
  // The row itself is what is kept: it is cut where that is possible.
  options.prefix.snapshot_tokens = std::numeric_limits<int64_t>::max();
  options.keep_latest_only = true;
  options.tiers = std::move(tiers);
  return options;
}

}  // namespace

Session::Session(Engine& engine, TierOptions tiers)
    : clock_(make_system_clock()), batch_(engine, *clock_, one_row(std::move(tiers))) {}

Result<GenerateResult> Session::generate(const GenerateRequest& request, const GenerateEvents& events) {
  GenerateResult result;
  result.prompt_tokens = static_cast<int64_t>(request.prompt.size());
  const auto collector = std::make_shared<Collector>(result, events);
  ServiceRequest service;
  service.generate = request;
  KVERN_TRY(const Ticket ticket, batch_.submit(std::move(service), collector));
  while (!batch_.idle()) {
    if (events.is_cancelled && events.is_cancelled()) batch_.cancel(ticket);
    batch_.step();
  }
  if (collector->error()) return std::unexpected(*collector->error());
  return result;
}

}  // namespace kvern::engine
