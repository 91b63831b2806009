#include "server/protocol/runs/run_scope.h"

#include <map>
#include <utility>

namespace kvern::server {
namespace {

store::JournalToken journal_token(const engine::TokenEvent& event) {
  store::JournalToken token{.token = event.token, .logprob = {}, .top = {}};
  if (!event.logprobs) return token;
  token.logprob = event.logprobs->logprob;
  for (const engine::TokenLogprob& each : event.logprobs->top)
    token.top.emplace_back(each.token, each.logprob);
  return token;
}

/// Writes down what is sampled, and passes everything on. On the loop's thread.
class JournalSink : public engine::GenerationSink {
 public:
  struct Parts {
    std::shared_ptr<engine::GenerationSink> inner;
    store::Journal& journal;
    uint64_t run = 0;
    bool started = false;  ///< by a former process
  };
  explicit JournalSink(Parts parts) : parts_(std::move(parts)) {}

  void on_prompt(const engine::PromptProgress& progress) override {
    if (!std::exchange(parts_.started, true))
      parts_.journal.start({.run = parts_.run, .cached_tokens = progress.cached});
    parts_.inner->on_prompt(progress);
  }
  void on_token(engine::TokenEvent event) override {
    const uint64_t index = tokens_[event.choice]++;
    if (!event.replayed)
      parts_.journal.sampled(parts_.run, static_cast<uint32_t>(event.choice), index, journal_token(event));
    parts_.inner->on_token(std::move(event));
  }
  void on_choice_end(engine::ChoiceEnd end) override { parts_.inner->on_choice_end(std::move(end)); }
  void on_end(const engine::RequestEnd& end) override { parts_.inner->on_end(end); }
  void on_error(const Error& error) override { parts_.inner->on_error(error); }

 private:
  Parts parts_;
  std::map<int32_t, uint64_t> tokens_;  // so far, by choice
};

ProtocolContext with(const ProtocolContext& base, RunService& service, IdSource& ids, const Clock& clock) {
  return {.service = service,
          .engine = base.engine,
          .clock = clock,
          .log = base.log,
          .executor = base.executor,
          .ids = ids,
          .chat = base.chat,
          .grammars = base.grammars,
          .model_name = base.model_name,
          .aliases = base.aliases,
          .system_fingerprint = base.system_fingerprint,
          .created = base.created,
          .limits = base.limits,
          .log_prompts = base.log_prompts,
          .runs = base.runs};
}

}  // namespace

Result<engine::Ticket> RunService::submit(engine::ServiceRequest request,
                                          std::shared_ptr<engine::GenerationSink> sink) {
  const bool started = replay_ && replay_->cached_tokens;
  request.replay = std::exchange(replay_, std::nullopt);
  if (journal_ != nullptr) {
    sink = std::make_shared<JournalSink>(
        JournalSink::Parts{.inner = std::move(sink), .journal = *journal_, .run = run_, .started = started});
  }
  return base_.submit(std::move(request), std::move(sink));
}

RunScope::RunScope(const ProtocolContext& base, store::Journal* journal, const RunSeed& seed)
    : ids(seed.salt),
      created(base.clock, seed.created),
      service(base.service, journal, seed.run),
      reading(with(base, service, ids, created)),
      answering(with(base, service, ids, base.clock)) {}

}  // namespace kvern::server
