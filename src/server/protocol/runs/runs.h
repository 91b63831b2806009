// All runs of a server: those that go on, those that can still be read, and those of a former process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "server/protocol/generation_run.h"
#include "server/protocol/runs/run.h"

namespace kvern::server {

/// What is kept of an answer for later requests, across restarts.
struct KeptRun {
  RunFacts facts;
  std::string id;
  RunOutcome outcome;
  /// It may not be seen: answers that can be go on from it.
  bool hidden = false;
};

/// A request that is about to become a run.
struct RunPlan {
  std::string id;
  engine::ServiceRequest service;
  std::unique_ptr<GenerationHandler> handler;
  uint64_t previous = 0;
};

/// Thread-safe, but for on_resume(), on_restore() and restore(), which come before everything else. A run is
/// kept while it goes on, and then, bounded by bytes and time, so that who lost its connection near the end
/// can come back.
class Runs {
 public:
  struct Options {
    /// What the tokens of a request depend on, beside it: a run of another model is not gone on with.
    std::string model;
    /// How long a run goes on that was begun for a reader when nobody reads it any more, and how long its
    /// events stay when it is over. Zero: streams belong to their connections.
    std::chrono::milliseconds reconnect_for{0};
    std::chrono::milliseconds stored_for{0};  ///< what is to be stored
    size_t max_bytes = 0;                     ///< of runs that are over
  };
  /// `journal` may be null: nothing outlives the process then. Both outlive it and its runs.
  Runs(const Clock& clock, store::Journal* journal, Options options);

  /// Whether a request with this body becomes a run: it asks for a stream or for the background.
  bool takes(const json::value& body) const;
  /// A new run for a request.
  std::shared_ptr<Run> open(const ProtocolContext& context, const Exchange& exchange,
                            const json::value& body);
  /// Lets it begin: in the journal, at the service, and for everybody who asks for its id. On an error
  /// nothing of it is left.
  Status start(const std::shared_ptr<Run>& run, RunPlan plan);

  /// Null where there is none that this client may see.
  std::shared_ptr<Run> find(const std::string& route, const std::string& client, const std::string& id) const;
  /// Cancels and forgets it. False if there is none.
  bool erase(const std::string& route, const std::string& client, const std::string& id);

  /// Keeps an answer that was no run, across restarts. Its name in the journal; 0 without one.
  uint64_t keep(const std::string& route, const std::string& client, const std::string& id,
                RunOutcome outcome);
  /// Forgets what was kept under this name.
  void forget(uint64_t run);

  /// Ends what nobody reads, forgets what is too old. To be called now and then.
  void sweep();
  /// The process is about to end: runs that are in the journal are left to the next one.
  void suspend();

  /// How a run of this route is begun again: `run` waits to be started with what the body says.
  using Resume = std::function<void(std::shared_ptr<Run> run, const std::string& body)>;
  void on_resume(const std::string& route, Resume resume) { resumes_[route] = std::move(resume); }
  /// Takes what was kept of this route, rising.
  using Restore = std::function<void(const std::vector<KeptRun>& kept)>;
  void on_restore(const std::string& route, Restore restore) { restores_[route] = std::move(restore); }
  /// Goes on with what the journal had.
  void restore(const ProtocolContext& context, std::vector<store::JournalledRun> runs);

  struct Stats {
    int64_t open = 0;
    int64_t over = 0;
    uint64_t resumed = 0;
  };
  Stats stats() const;
  store::Journal* journal() const { return journal_; }

 private:
  struct Over {
    std::shared_ptr<Run> run;
    std::chrono::steady_clock::time_point until;
    size_t bytes = 0;
  };
  using Key = std::pair<std::string, std::string>;  // route and id

  std::shared_ptr<Run> make(const ProtocolContext& context, HttpRequest request, RunFacts facts,
                            const RunSeed& seed);
  void over(const std::shared_ptr<Run>& run);
  void add_over(const std::shared_ptr<Run>& run, std::chrono::milliseconds kept_for);
  void forget_old() KVERN_REQUIRES(mutex_);
  void forget(std::list<Over>::iterator it) KVERN_REQUIRES(mutex_);
  std::chrono::milliseconds kept_for(const Run& run) const;
  int64_t wall_ms() const;
  Status check_resumed(const store::AcceptedRecord& record, const RunPlan& plan) const;
  void resume(const ProtocolContext& context, store::JournalledRun journalled);
  void restore_over(const KeptRun& kept, const store::EndedRecord& record);

  const Clock& clock_;
  store::Journal* const journal_;
  const Options options_;
  std::map<std::string, Resume> resumes_;
  std::map<std::string, Restore> restores_;

  mutable Mutex mutex_;
  std::map<Key, std::shared_ptr<Run>> open_ KVERN_GUARDED_BY(mutex_);
  std::list<Over> over_ KVERN_GUARDED_BY(mutex_);  // the oldest first
  std::map<Key, std::list<Over>::iterator> over_by_id_ KVERN_GUARDED_BY(mutex_);
  size_t over_bytes_ KVERN_GUARDED_BY(mutex_) = 0;
  uint64_t resumed_ KVERN_GUARDED_BY(mutex_) = 0;
};

}  // namespace kvern::server
