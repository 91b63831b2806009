#include "cli/server_process.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/plural.h"
#include "cli/output.h"
#include "cli/serve_log.h"
#include "cli/served_model.h"
#include "cli/service_manager.h"
#include "cli/signals.h"
#include "cli/version.h"
#include "engine/loop/engine_loop.h"
#include "engine/tiers/kv_remote.h"
#include "engine/tiers/saved_prefixes.h"
#include "server/app/app.h"
#include "server/app/serving.h"
#include "server/config/values.h"
#include "server/http/http_server.h"
#include "store/journal/journal.h"

namespace kvern::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr uint64_t kMaxPemBytes = uint64_t{1} << 20;
/// How often keys are looked at and the service manager is told; also the time in which a signal is noticed
/// that came while something else was waited for.
constexpr milliseconds kTick{1000};
constexpr milliseconds kShortTick{50};
/// For streams to say why they end, when the time to drain is over.
constexpr milliseconds kLastWords{2000};
/// Descriptors beside those of connections: listeners, the model, logs.
constexpr size_t kOwnDescriptors = 128;
/// As much as logits of a vocabulary, which each sampled token may need, and less than what is kept long.
constexpr int kLargePiece = 4 << 20;
/// Each keeps some memory of its own at its end, which malloc_trim() does not give back of any but the first.
constexpr int kHeaps = 2;

Result<server::HttpServerOptions> http_options(Files& files, const ServeFlags& flags) {
  server::HttpServerOptions options = flags.http;
  const std::vector<std::string> hosts =
      flags.hosts.empty() ? std::vector<std::string>{"127.0.0.1"} : flags.hosts;
  for (const std::string& host : hosts) options.listen.push_back({.host = host, .port = flags.port});
  if (!flags.tls_certificate.empty()) {
    options.tls.emplace();
    KVERN_TRY(options.tls->certificate_chain_pem, read_file(files, flags.tls_certificate, kMaxPemBytes));
    KVERN_TRY(options.tls->private_key_pem, read_file(files, flags.tls_key, kMaxPemBytes));
  }
  return options;
}

/// The model and everything that runs it.
struct LoadedModel {
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<engine::KvDirectory> kv;       // null: prefixes are kept in memory alone
  std::unique_ptr<engine::SavedPrefixes> saved;  // of kv
  std::unique_ptr<engine::KvRemote> remote;      // null: no other machine shares them
  std::unique_ptr<store::Journal> journal;       // or null
  std::vector<store::JournalledRun> journalled;  // until they go on
  std::unique_ptr<engine::EngineLoop> loop;
  std::unique_ptr<server::Serving> serving;
};

class ServerProcess {
 public:
  ServerProcess(Environment& environment, const ServeFlags& flags)
      : environment_(environment),
        flags_(flags),
        log_(flags.log, environment.clock),
        manager_(ServiceManager::from_environment()),
        names_(model_names(flags.model.engine.model_path, flags.aliases)),
        metrics_(server::MetricLabels{{"model_name", names_.front()}}) {}

  Result<ExitCode> run();

 private:
  Status open_port();
  void load();
  Status open_model();
  Status open_kv_directory();
  Status open_remote();
  Status open_journal();
  Status open_saved();
  void start_loading();
  Result<bool> wait_for_loading();
  void watch();
  void return_memory();
  void reload_keys();
  void drain();
  void save_prefixes();
  [[noreturn]] void stop_at_once();
  void do_until_second_signal(const std::function<void()>& work);
  bool wait_for_end(milliseconds timeout);
  void shut();
  void say(LogLevel level, const std::string& message) { log_.log(level, message); }

  Environment& environment_;
  const ServeFlags& flags_;
  ServeLog log_;
  ServiceManager manager_;
  const std::vector<std::string> names_;
  server::Metrics metrics_;
  std::unique_ptr<server::ApiKeys> keys_;
  std::string key_problem_;
  uint64_t work_returned_ = 0;  // connections and steps when memory was last given back
  std::unique_ptr<server::App> app_;
  LoadedModel loaded_;  // the loader's until it has ended
  std::optional<Error> load_error_;
  std::atomic<bool> load_ended_{false};
  std::unique_ptr<server::HttpServer> http_;  // after what its connections use
  std::thread loader_;
};

Status ServerProcess::open_port() {
  KVERN_TRY(keys_, server::ApiKeys::load(environment_.files, flags_.keys));
  KVERN_TRY(const server::HttpServerOptions options, http_options(environment_.files, flags_));
  const size_t wanted = options.limits.connections + kOwnDescriptors;
  if (const size_t allowed = allow_descriptors(wanted); allowed < wanted) {
    say(LogLevel::kWarning, fmt::format("this process may open {} descriptors, fewer than the {} that "
                                        "--max-connections {} needs: raise 'ulimit -n'",
                                        allowed, wanted, options.limits.connections));
  }
  app_ = std::make_unique<server::App>(server::AppOptions{.version = version_text(),
                                                          .cors_origins = flags_.cors_origins,
                                                          .open_metrics = flags_.open_metrics},
                                       server::App::Parts{.keys = *keys_, .metrics = metrics_, .log = log_});
  KVERN_TRY(http_, server::HttpServer::start(
                       options, {.application = *app_, .clock = environment_.clock, .log = log_}));
  app_->observe(*http_);
  for (const server::ListenAddress& address : http_->addresses()) {
    say(LogLevel::kInfo,
        fmt::format("listening on {}://{}", options.tls ? "https" : "http", to_string(address)));
    const bool reachable = !address.host.starts_with("127.") && address.host != "::1";
    if (reachable && !keys_->required())
      say(LogLevel::kWarning, "other machines can reach this address, and no API key is asked for");
  }
  return Ok{};
}

/// Null when prefixes are not saved.
Result<std::unique_ptr<engine::KvDirectory>> open_kv(Environment& environment, const ServeFlags& flags,
                                                     LogSink& log) {
  if (flags.kv.path.empty()) return nullptr;
  auto opened = engine::KvDirectory::open(
      {.files = environment.files, .clock = environment.clock, .log = log}, flags.kv);
  if (!opened && opened.error().code == ErrorCode::kIo && !flags.kv.read_only)
    opened.error().message += " (--kv-read-only)";
  return opened;
}

Status ServerProcess::open_kv_directory() {
  KVERN_TRY(loaded_.kv, open_kv(environment_, flags_, log_));
  if (loaded_.kv != nullptr)
    say(LogLevel::kInfo, fmt::format("saved prefixes in {}: {}", flags_.kv.path, loaded_.kv->summary()));
  return Ok{};
}

/// Null when no other machine shares prefixes.
Result<std::unique_ptr<engine::KvRemote>> open_shared(Environment& environment, const ServeFlags& flags,
                                                      LogSink& log) {
  if (flags.remote.url.empty()) return nullptr;
  auto opened = engine::KvRemote::open({.files = environment.files, .clock = environment.clock, .log = log},
                                       flags.remote);
  if (!opened && opened.error().where.empty()) opened.error().where = "--kv-remote";
  return opened;
}

Status ServerProcess::open_remote() {
  KVERN_TRY(loaded_.remote, open_shared(environment_, flags_, log_));
  if (loaded_.remote != nullptr)
    say(LogLevel::kInfo, fmt::format("prefixes are shared through {}", loaded_.remote->name()));
  return Ok{};
}

Status ServerProcess::open_saved() {
  KVERN_TRY(loaded_.saved, engine::SavedPrefixes::create({.store = loaded_.kv->store(),
                                                          .files = environment_.files,
                                                          .clock = environment_.clock,
                                                          .directory = loaded_.kv->path()},
                                                         *loaded_.engine));
  return Ok{};
}

Status ServerProcess::open_model() {
  KVERN_TRY_STATUS(open_remote());
  install_bus_error_message(flags_.model.engine.model_path);
  KVERN_TRY(loaded_.engine, engine::Engine::open(environment_.files, flags_.model.engine));
  warn_of_long_context(*loaded_.engine, log_);
  return Ok{};
}

/// Else clients learn it one by one.
void warn_of_small_budget(const engine::Engine& engine, LogSink& log) {
  const size_t budget = engine.options().kv_budget_bytes.value_or(0);
  const size_t row = engine.kv().peak_bytes({.end = engine.context_tokens()});
  if (budget == 0 || row <= budget) return;
  int64_t fits = 0;
  for (int64_t step = std::bit_floor(static_cast<uint64_t>(engine.context_tokens())); step > 0; step /= 2) {
    if (engine.kv().peak_bytes({.end = fits + step}) <= budget) fits += step;
  }
  log.log(LogLevel::kWarning,
          fmt::format("one row of the whole context ({} tokens) takes {}, more than --kv-budget {}: requests "
                      "of more than {} tokens, answer included, are refused",
                      engine.context_tokens(), human_bytes(row), human_bytes(budget), fits));
}

void ServerProcess::load() {
  const auto begin = steady_clock::now();
  engine::LoopOptions loop = flags_.loop;
  Status opened = open_model();
  if (opened && loaded_.kv != nullptr) opened = loaded_.kv->add_to(loop.tiers, *loaded_.engine);
  if (opened && loaded_.kv != nullptr) opened = open_saved();
  if (opened && loaded_.remote != nullptr) opened = loaded_.remote->add_to(loop.tiers, *loaded_.engine);
  if (!opened) {
    load_error_ = opened.error();
    app_->fail(opened.error().to_string());
    return;
  }
  const size_t budget = loaded_.engine->options().kv_budget_bytes.value_or(0);
  warn_of_small_budget(*loaded_.engine, log_);
  loop.prefix.max_bytes = flags_.prefix_bytes.value_or(budget / 2);
  server::ProtocolLimits limits = flags_.limits;
  limits.max_rows = loop.max_rows;
  limits.reconnect_for = flags_.reconnect_for.value_or(flags_.journals() ? kReconnectFor : milliseconds(0));
  loaded_.loop = std::make_unique<engine::EngineLoop>(*loaded_.engine, environment_.clock, loop);
  loaded_.serving = std::make_unique<server::Serving>(
      server::ServingOptions{.model_name = names_.front(),
                             .aliases = {names_.begin() + 1, names_.end()},
                             .system_fingerprint = system_fingerprint(*loaded_.engine),
                             .limits = limits,
                             .log_prompts = flags_.log_prompts,
                             .id_salt = random_number(),
                             .model_identity = model_identity(*loaded_.engine)},
      server::Serving::Parts{.service = *loaded_.loop,
                             .engine = *loaded_.engine,
                             .clock = environment_.clock,
                             .log = log_,
                             .metrics = metrics_,
                             .journal = loaded_.journal.get(),
                             .saved = loaded_.saved.get()});
  loaded_.serving->restore(std::exchange(loaded_.journalled, {}));
  app_->serve(loaded_.serving->routes(), loaded_.serving->service());
  const auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
  say(LogLevel::kInfo,
      fmt::format("serving {} as {}: context {} tokens, {} for keys and values, {} of it for kept prefixes; "
                  "loaded in {} ms",
                  flags_.model.engine.model_path, names_.front(), loaded_.engine->context_tokens(),
                  budget == 0 ? "no limit" : human_bytes(budget), human_bytes(loop.prefix.max_bytes),
                  took.count()));
  manager_.ready();
}

/// What a former process had not finished, or kept.
Status ServerProcess::open_journal() {
  auto found = store::Journal::open({.files = environment_.files, .log = log_, .clock = environment_.clock},
                                    {.directory = flags_.kv.path + "/journal", .sync = flags_.journal_sync});
  if (!found) {
    if (found.error().code == ErrorCode::kExhausted)
      found.error().message += "; with --no-journal a server shares the prefixes alone";
    return std::unexpected(std::move(found).error());
  }
  store::Journal::Opened& opened = *found;
  loaded_.journal = std::move(opened.journal);
  const auto open = std::ranges::count_if(
      opened.runs, [](const store::JournalledRun& run) { return run.accepted.has_value(); });
  say(LogLevel::kInfo, fmt::format("the journal in {}: {} on, {} kept", flags_.kv.path,
                                   counted(open, "unfinished generation goes", "unfinished generations go"),
                                   counted(std::ssize(opened.runs) - open, "answer is", "answers are")));
  loaded_.journalled = std::move(opened.runs);
  return Ok{};
}

void ServerProcess::start_loading() {
  loader_ = std::thread([this] {
    try {
      load();
    } catch (const std::exception& error) {
      load_error_ = Error{.code = ErrorCode::kExhausted, .message = error.what(), .where = "loading"};
    }
    load_ended_ = true;
  });
}

/// Whether a signal asked to stop meanwhile.
Result<bool> ServerProcess::wait_for_loading() {
  bool stop = false;
  while (!load_ended_) {
    if (wait_for_service_signal(kShortTick) != ServiceSignal::kStop) continue;
    if (stop) ::_exit(0);
    stop = true;
    http_->stop_accepting();
  }
  loader_.join();
  if (load_error_) return std::unexpected(*load_error_);
  return stop;
}

void ServerProcess::reload_keys() {
  const Result<bool> changed = keys_->reload();
  // Once for each problem, not once a second.
  const std::string problem = changed ? std::string() : changed.error().to_string();
  if (!changed && problem != key_problem_) say(LogLevel::kError, "the old API keys stay: " + problem);
  key_problem_ = problem;
  if (!changed) return;
  if (*changed)
    say(LogLevel::kInfo,
        fmt::format("{} now", counted(std::ssize(*keys_), "API key counts", "API keys count")));
}

/// After a busy time most of what it took is free, but spread over the arenas of several threads, which keep
/// it. Once nothing runs, it goes back to the system.
void ServerProcess::return_memory() {
#ifdef __GLIBC__
  const engine::ServiceStats loop = loaded_.loop->stats();
  const server::HttpServerStats http = http_->stats();
  const uint64_t work_done = loop.steps + http.accepted;
  if (work_done == work_returned_ || loop.running + loop.waiting + loop.outside + http.requests > 0) return;
  work_returned_ = work_done;
  malloc_trim(0);
#endif
}

/// Until a signal asks to stop.
void ServerProcess::watch() {
  bool was_healthy = true;
  for (;;) {
    const auto signal = wait_for_service_signal(kTick);
    if (signal == ServiceSignal::kStop) return;
    if (keys_->required()) reload_keys();
    return_memory();
    const Status health = loaded_.loop->health();
    if (health) manager_.alive();
    if (was_healthy && !health) {
      say(LogLevel::kError, fmt::format("{}; requests are refused and nothing is saved: restart the server",
                                        health.error().message));
    }
    was_healthy = health.has_value();
  }
}

void ServerProcess::stop_at_once() {
  say(LogLevel::kWarning, "stopped at once, by a second signal");
  ::_exit(0);
}

/// Does what may take long.
void ServerProcess::do_until_second_signal(const std::function<void()>& work) {
  std::atomic<bool> done{false};
  std::thread worker([&] {
    work();
    done = true;
  });
  while (!done) {
    if (wait_for_service_signal(kShortTick) == ServiceSignal::kStop) stop_at_once();
  }
  worker.join();
}

/// Whether all connections ended in time. A second signal ends the process.
bool ServerProcess::wait_for_end(milliseconds timeout) {
  const auto end = steady_clock::now() + timeout;
  while (!http_->wait_until_idle(milliseconds(0))) {
    if (steady_clock::now() >= end) return false;
    if (wait_for_service_signal(kShortTick) == ServiceSignal::kStop) stop_at_once();
  }
  return true;
}

void ServerProcess::drain() {
  manager_.stopping();
  say(LogLevel::kInfo,
      fmt::format("stopping: {} may go on for {}", counted(http_->stats().requests, "request"),
                  server::duration_text(flags_.drain_timeout)));
  app_->begin_shutdown();
  http_->stop_accepting();
  if (wait_for_end(flags_.drain_timeout)) return;
  say(LogLevel::kWarning, fmt::format("the time is over: {} ended", counted(loaded_.serving->service().open(),
                                                                            "request is", "requests are")));
  // Of these, the next process goes on with those that are in the journal.
  loaded_.serving->suspend();
  loaded_.serving->service().end_all();
  wait_for_end(kLastWords);
}

/// What is kept in memory, for the next start.
void ServerProcess::save_prefixes() {
  if (loaded_.kv == nullptr || flags_.kv.read_only || !loaded_.loop) return;
  say(LogLevel::kInfo,
      fmt::format("saving prefixes, for {} at most", server::duration_text(flags_.limits.flush_timeout)));
  Result<engine::FlushReport> report = engine::FlushReport();
  do_until_second_signal(
      [&] { report = loaded_.loop->flush(steady_clock::now() + flags_.limits.flush_timeout); });
  if (!report) {
    say(LogLevel::kWarning, "prefixes are not saved: " + report.error().to_string());
  } else if (!report->durable) {
    say(LogLevel::kWarning,
        fmt::format("not all prefixes are saved: {} saved, {} dropped, {} declined, {} failed, {} gone again "
                    "for want of room, {} left",
                    report->saved, report->dropped, report->declined, report->failed, report->evicted,
                    report->left));
  } else {
    say(LogLevel::kInfo,
        fmt::format("{} saved", counted(static_cast<int64_t>(report->saved), "prefix", "prefixes")));
  }
}

/// What others use goes last. The loop ends before the connections do, so that nothing is being made for
/// them.
void ServerProcess::shut() {
  // Generations in the background may still run.
  if (loaded_.serving) loaded_.serving->suspend();
  if (loaded_.loop) {
    loaded_.loop->stop(engine::StopMode::kCancel);
    loaded_.loop->wait_stopped();
  }
  http_.reset();
  loaded_.serving.reset();
  loaded_.loop.reset();
  loaded_.remote.reset();
  loaded_.saved.reset();
  loaded_.kv.reset();
  loaded_.journal.reset();
}

/// glibc gives large pieces back one by one, but with each raises the size from which it does, up to 32 MiB,
/// and what it may keep to twice that: after a while everything lies among small pieces, which hold its
/// pages.
void keep_memory_together() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, kLargePiece);
  mallopt(M_ARENA_MAX, kHeaps);
#endif
}

Result<ExitCode> ServerProcess::run() {
  hold_service_signals();
  keep_memory_together();
  // Nobody is to hear of a server that cannot have its directory.
  KVERN_TRY_STATUS(open_kv_directory());
  if (flags_.journals()) KVERN_TRY_STATUS(open_journal());
  KVERN_TRY_STATUS(open_port());
  start_loading();
  const Result<bool> stop = wait_for_loading();
  if (stop) {
    if (!*stop) watch();
    drain();
    save_prefixes();
  }
  // Whoever is busy with a request is waited for.
  do_until_second_signal([this] { shut(); });
  if (!stop) return std::unexpected(stop.error());
  say(LogLevel::kInfo, "stopped");
  return ExitCode::kOk;
}

}  // namespace

Status check_server(Environment& environment, const ServeFlags& flags) {
  KVERN_TRY([[maybe_unused]] const auto keys, server::ApiKeys::load(environment.files, flags.keys));
  KVERN_TRY(const server::HttpServerOptions options, http_options(environment.files, flags));
  KVERN_TRY_STATUS(server::check_http_options(options));
  ServeLog log(flags.log, environment.clock);
  KVERN_TRY(const auto kv, open_kv(environment, flags, log));
  KVERN_TRY([[maybe_unused]] const auto remote, open_shared(environment, flags, log));
  KVERN_TRY(const auto engine, engine::Engine::open(environment.files, flags.model.engine));
  warn_of_long_context(*engine, log);
  warn_of_small_budget(*engine, log);
  if (kv == nullptr) return Ok{};
  engine::TierOptions tiers;
  return kv->add_to(tiers, *engine);
}

Result<ExitCode> run_server(Environment& environment, const ServeFlags& flags) {
  return ServerProcess(environment, flags).run();
}

}  // namespace kvern::cli
