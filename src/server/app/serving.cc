#include "server/app/serving.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/chat/chat_format.h"
#include "engine/load/grammars.h"
#include "server/protocol/anthropic/routes.h"
#include "server/protocol/id_source.h"
#include "server/protocol/kv/routes.h"
#include "server/protocol/llama/routes.h"
#include "server/protocol/openai/routes.h"
#include "server/protocol/responses/routes.h"
#include "server/protocol/runs/runs.h"
#include "server/protocol/thread_executor.h"

namespace kvern::server {
namespace {

/// How often is looked for runs that nobody reads any more.
constexpr std::chrono::milliseconds kSweepInterval{200};

void write_run_stats(const Runs& runs, MetricsText& out) {
  const Runs::Stats stats = runs.stats();
  out.gauge("kvern_runs_open", "Generations that do not belong to a connection.",
            static_cast<double>(stats.open));
  out.gauge("kvern_runs_over", "Those that have ended and can still be read.",
            static_cast<double>(stats.over));
  out.counter("kvern_runs_resumed_total", "Those that a former process had begun.",
              static_cast<double>(stats.resumed));
  if (runs.journal() == nullptr) return;
  const store::JournalStats journal = runs.journal()->stats();
  out.gauge("kvern_journal_bytes", "Of the journal on disk.", static_cast<double>(journal.bytes));
  out.counter("kvern_journal_records_total", "Records written to the journal.",
              static_cast<double>(journal.records));
  out.counter("kvern_journal_commits_total", "Groups of them.", static_cast<double>(journal.commits));
  out.counter("kvern_journal_failures_total", "Groups that could not be written.",
              static_cast<double>(journal.failures));
}

}  // namespace

struct Serving::Impl {
  Impl(ServingOptions options, const Parts& parts)
      : service_metrics(parts.metrics),
        observed(parts.service, parts.clock, service_metrics),
        ids(options.id_salt),
        runs(parts.clock, parts.journal,
             {.model = options.model_identity,
              .reconnect_for = options.limits.reconnect_for,
              .stored_for = options.limits.stored_for,
              .max_bytes = options.limits.max_stored_bytes}),
        grammars(engine::make_grammar_cache(parts.engine)),
        context{.service = observed,
                .engine = parts.engine,
                .clock = parts.clock,
                .log = parts.log,
                .executor = executor,
                .ids = ids,
                .chat = engine::ChatFormat::create(parts.engine),
                .saved = parts.saved,
                .grammars = grammars.get(),
                .model_name = std::move(options.model_name),
                .aliases = std::move(options.aliases),
                .system_fingerprint = std::move(options.system_fingerprint),
                .created = std::chrono::duration_cast<std::chrono::seconds>(
                               parts.clock.wall_now().time_since_epoch())
                               .count(),
                .limits = options.limits,
                .log_prompts = options.log_prompts,
                .runs = &runs},
        patient(1, parts.log),
        transfers(static_cast<int>(options.limits.max_exports), parts.log),
        executor(options.answer_threads, parts.log),
        sweeper([this](const std::stop_token& stop) { sweep(stop); }) {
    anthropic::add_routes(router, context);
    kv::add_routes(router, context, {.patient = patient, .transfers = transfers});
    llama::add_routes(router, context);
    openai::add_routes(router, context);
    responses::add_routes(router, context);
    parts.metrics.collect([this](MetricsText& out) { write_run_stats(runs, out); });
  }

  void sweep(const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any waiting;
    while (!stop.stop_requested()) {
      runs.sweep();
      waiting.wait_for(lock, stop, kSweepInterval, [] { return false; });
    }
  }

  ServiceMetrics service_metrics;
  ObservedService observed;
  IdSource ids;
  Runs runs;
  std::unique_ptr<text::GrammarCache> grammars;  // null without a tokenizer
  ProtocolContext context;
  Router router;
  ThreadExecutor patient;    // for what waits for disks
  ThreadExecutor transfers;  // for what waits for clients
  ThreadExecutor executor;   // What its threads still have to do uses all of the above.
  std::jthread sweeper;      // Last: it calls runs, and so the service.
};

Serving::Serving(ServingOptions options, const Parts& parts)
    : impl_(std::make_unique<Impl>(std::move(options), parts)) {}
Serving::~Serving() = default;

const Router& Serving::routes() const { return impl_->router; }
ObservedService& Serving::service() { return impl_->observed; }
const ProtocolContext& Serving::context() const { return impl_->context; }
void Serving::restore(std::vector<store::JournalledRun> runs) {
  impl_->runs.restore(impl_->context, std::move(runs));
}
void Serving::suspend() { impl_->runs.suspend(); }

}  // namespace kvern::server
