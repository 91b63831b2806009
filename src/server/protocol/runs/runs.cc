#include "server/protocol/runs/runs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/protocol/runs/kept_run.h"

namespace kvern::server {
namespace {

using std::chrono::milliseconds;

bool says(const json::value& body, std::string_view name) {
  const json::object* object = body.if_object();
  const json::value* value = object == nullptr ? nullptr : object->if_contains(name);
  return value != nullptr && value->is_bool() && value->as_bool();
}

/// All but the body, which a run needs no more.
HttpRequest head_of(const HttpRequest& request) {
  HttpRequest head;
  head.method = request.method;
  head.path = request.path;
  head.client = request.client;
  head.id = request.id;
  head.usage = request.usage;
  return head;
}

constexpr const char* kRequestIdHeader = "x-request-id";

}  // namespace

Runs::Runs(const Clock& clock, store::Journal* journal, Options options)
    : clock_(clock), journal_(journal), options_(std::move(options)) {}

int64_t Runs::wall_ms() const {
  return std::chrono::duration_cast<milliseconds>(clock_.wall_now().time_since_epoch()).count();
}

bool Runs::takes(const json::value& body) const {
  return says(body, "background") || (options_.reconnect_for.count() > 0 && says(body, "stream"));
}

std::shared_ptr<Run> Runs::make(const ProtocolContext& context, HttpRequest request, RunFacts facts,
                                const RunSeed& seed) {
  return std::make_shared<Run>(std::move(request), std::move(facts),
                               std::make_unique<RunScope>(context, journal_, seed),
                               [this](const std::shared_ptr<Run>& run) { over(run); });
}

std::shared_ptr<Run> Runs::open(const ProtocolContext& context, const Exchange& exchange,
                                const json::value& body) {
  const HttpRequest& request = exchange.request();
  RunFacts facts{.route = request.path,
                 .client = request.client,
                 .run = journal_ == nullptr ? 0 : journal_->next_run(),
                 .background = says(body, "background")};
  // As precise as the journal is.
  const auto created = std::chrono::floor<milliseconds>(clock_.wall_now());
  const RunSeed seed{.run = facts.run, .salt = context.ids.salt(), .created = created};
  std::shared_ptr<Run> run = make(context, head_of(request), std::move(facts), seed);
  if (journal_ == nullptr) return run;
  store::AcceptedRecord& record = run->scope().record;
  record.run = seed.run;
  record.salt = seed.salt;
  record.created_ms = created.time_since_epoch().count();
  record.model = options_.model;
  record.route = run->facts().route;
  record.client = request.client;
  record.headers = {{kRequestIdHeader, request.id}};
  record.body = request.body;
  return run;
}

// The request was read again: what it says has to be what it said.
Status Runs::check_resumed(const store::AcceptedRecord& record, const RunPlan& plan) const {
  if (record.model != options_.model)
    return fail(ErrorCode::kUnsupported, "it was begun with another model, and cannot be gone on with");
  if (record.id != plan.id || record.seed != plan.service.generate.sampling.seed)
    return fail(ErrorCode::kUnsupported, "it was begun by another version, and cannot be gone on with");
  return Ok{};
}

Status Runs::start(const std::shared_ptr<Run>& run, RunPlan plan) {
  const Key key{run->facts().route, plan.id};
  store::AcceptedRecord& record = run->scope().record;
  const bool resumed = run->scope().resumed;
  if (resumed) {
    KVERN_TRY_STATUS(check_resumed(record, plan));
    plan.service.generate.prompt.assign(record.prompt.begin(), record.prompt.end());
  }
  run->set_id(plan.id);
  {
    const MutexLock lock(mutex_);
    open_.insert_or_assign(key, run);
  }
  if (journal_ != nullptr && !resumed) {
    record.previous = plan.previous;
    record.seed = plan.service.generate.sampling.seed;
    record.id = plan.id;
    record.cache_namespace = plan.service.cache_namespace;
    record.prompt.assign(plan.service.generate.prompt.begin(), plan.service.generate.prompt.end());
    journal_->accept(std::move(record), [run] { run->show(); });
  } else {
    run->show();
  }
  std::vector<engine::ServiceRequest> parts;
  parts.push_back(std::move(plan.service));
  const std::shared_ptr<const ProtocolContext> context(run, &run->scope().answering);
  auto started = GenerationRun::start(context, *run, std::move(parts), std::move(plan.handler));
  if (started) return Ok{};
  {
    const MutexLock lock(mutex_);
    open_.erase(key);
  }
  if (journal_ != nullptr && !resumed) journal_->end({.run = run->facts().run});
  return std::unexpected(std::move(started).error());
}

milliseconds Runs::kept_for(const Run& run) const {
  const bool stored = run.outcome().stored || run.facts().background;
  return stored ? std::max(options_.stored_for, options_.reconnect_for) : options_.reconnect_for;
}

// Called by the run when its answer is complete.
void Runs::over(const std::shared_ptr<Run>& run) {
  const bool discarded = run->is_discarded();
  const milliseconds kept = kept_for(*run);
  {
    const MutexLock lock(mutex_);
    open_.erase({run->facts().route, run->id()});
  }
  if (!discarded) add_over(run, kept);
  if (journal_ == nullptr) return;
  store::EndedRecord record{.run = run->facts().run,
                            .previous = run->outcome().previous,
                            .expires_ms = wall_ms() + kept.count(),
                            .content = {},
                            .events = {}};
  if (!discarded && kept.count() > 0) {
    record.content = kept_content(run->facts(), run->id(), run->outcome());
    record.events = run->events();
  }
  journal_->end(std::move(record));
}

void Runs::add_over(const std::shared_ptr<Run>& run, milliseconds kept_for) {
  if (kept_for.count() <= 0) return;
  const MutexLock lock(mutex_);
  const Key key{run->facts().route, run->id()};
  if (over_by_id_.contains(key)) return;
  over_.push_back({.run = run, .until = clock_.now() + kept_for, .bytes = run->bytes()});
  over_bytes_ += over_.back().bytes;
  over_by_id_.emplace(key, std::prev(over_.end()));
  forget_old();
}

void Runs::forget(std::list<Over>::iterator it) {
  over_bytes_ -= it->bytes;
  over_by_id_.erase({it->run->facts().route, it->run->id()});
  over_.erase(it);
}

void Runs::forget_old() {
  const auto now = clock_.now();
  while (!over_.empty() && over_bytes_ > options_.max_bytes) forget(over_.begin());
  // They are not kept for equally long.
  for (auto it = over_.begin(); it != over_.end();) {
    const auto next = std::next(it);
    if (it->until <= now) forget(it);
    it = next;
  }
}

std::shared_ptr<Run> Runs::find(const std::string& route, const std::string& client,
                                const std::string& id) const {
  const MutexLock lock(mutex_);
  std::shared_ptr<Run> run;
  if (const auto open = open_.find({route, id}); open != open_.end()) run = open->second;
  if (const auto over = over_by_id_.find({route, id}); over != over_by_id_.end()) {
    if (over->second->until > clock_.now()) run = over->second->run;
  }
  return run != nullptr && run->facts().client == client && !run->is_discarded() ? run : nullptr;
}

bool Runs::erase(const std::string& route, const std::string& client, const std::string& id) {
  const std::shared_ptr<Run> run = find(route, client, id);
  if (run == nullptr) return false;
  // Of one that goes on, over() writes the end.
  if (run->discard()) return true;
  {
    const MutexLock lock(mutex_);
    if (const auto found = over_by_id_.find({route, id}); found != over_by_id_.end()) forget(found->second);
  }
  forget(run->facts().run);
  return true;
}

uint64_t Runs::keep(const std::string& route, const std::string& client, const std::string& id,
                    RunOutcome outcome) {
  if (journal_ == nullptr || options_.stored_for.count() <= 0) return 0;
  const RunFacts facts{.route = route, .client = client, .run = journal_->next_run(), .background = false};
  journal_->end({.run = facts.run,
                 .previous = outcome.previous,
                 .expires_ms = wall_ms() + options_.stored_for.count(),
                 .content = kept_content(facts, id, outcome),
                 .events = {}});
  return facts.run;
}

void Runs::forget(uint64_t run) {
  if (journal_ != nullptr && run != 0) journal_->forget(run);
}

void Runs::sweep() {
  std::vector<std::shared_ptr<Run>> lost;
  {
    const MutexLock lock(mutex_);
    forget_old();
    for (const auto& [key, run] : open_) {
      const auto since = run->lost_since();
      if (since && clock_.now() - *since >= options_.reconnect_for) lost.push_back(run);
    }
  }
  for (const auto& run : lost) run->give_up();
}

void Runs::suspend() {
  if (journal_ == nullptr) return;
  std::vector<std::shared_ptr<Run>> runs;
  {
    const MutexLock lock(mutex_);
    for (const auto& [key, run] : open_) runs.push_back(run);
  }
  for (const auto& run : runs) run->suspend();
}

Runs::Stats Runs::stats() const {
  const MutexLock lock(mutex_);
  return {.open = static_cast<int64_t>(open_.size()),
          .over = static_cast<int64_t>(over_.size()),
          .resumed = resumed_};
}

}  // namespace kvern::server
