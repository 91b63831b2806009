// A generation that does not belong to a connection: its answer is made whether somebody reads it or not, and
// can be read again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "server/http/exchange.h"
#include "server/protocol/runs/run_scope.h"

namespace kvern::server {

/// What a run is.
struct RunFacts {
  std::string route;   ///< of the request, "/v1/responses"
  std::string client;  ///< whose key came with it; nobody else may see it
  uint64_t run = 0;    ///< its name in the journal
  bool background = false;
};

/// What is kept of a run when it is over, beside its events. Texts are JSON; empty: there is none.
struct RunOutcome {
  std::string body;   ///< the whole answer
  std::string input;  ///< what it answers
  bool stored = false;
  uint64_t previous = 0;  ///< the run whose answer it goes on from
};

/// To the handler that makes the answer it is the exchange. Readers follow it: each gets the events behind a
/// number, in order, each of them once, and then those that are made. Thread-safe.
///
/// Events are numbered by their maker (Exchange::write_event), from 0 on without gaps, and carry the number
/// as the event's id; other bytes of the stream go to those who follow at that time and are not kept.
class Run final : public Exchange, public std::enable_shared_from_this<Run> {
 public:
  /// `over` is called once, when the answer is complete, on the maker's thread.
  Run(HttpRequest request, RunFacts facts, std::unique_ptr<RunScope> scope,
      std::function<void(const std::shared_ptr<Run>&)> over);

  const RunFacts& facts() const { return facts_; }
  /// None in a run that is over since before this process.
  RunScope& scope() { return *scope_; }
  /// As its owner knows it. Set before it is found.
  void set_id(std::string id) { id_ = std::move(id); }
  const std::string& id() const { return id_; }

  // The maker's side.
  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override;
  void start_stream(HttpResponse head) override;
  void write(std::string bytes) override;
  void write_event(uint64_t number, std::string event) override;
  void end() override;
  /// Nobody makes the answer any more: it stays cut.
  void abandon();
  void on_close(std::function<void()> callback) override;
  /// The answer as a whole, as far as it has come; JSON.
  void set_body(std::string body);
  void set_outcome(RunOutcome outcome);

  // The readers' side.
  /// Sends what comes behind event `after` (nothing: everything), and follows. An error (kInvalidArgument)
  /// when there is no such event; in a run that a former process had begun it may still come.
  Status follow(const std::shared_ptr<Exchange>& reader, std::optional<uint64_t> after);
  std::string body() const;
  RunOutcome outcome() const;
  /// Called when readers may see the run: at once, or later on any thread.
  void when_shown(std::function<void()> callback);
  /// Called when it is over: at once, or later on the maker's thread.
  void when_over(std::function<void()> callback);

  /// What readers get waits until then: a client must not know of a run that a crash could make unknown.
  void show();
  /// Ends the generation; the maker still completes the answer. `was_cancelled` from then on.
  void cancel();
  bool was_cancelled() const;
  /// As cancel(), because nobody reads it any more.
  void give_up();
  /// Its owner wants nothing of it kept. True if it was not over.
  bool discard();
  bool is_discarded() const;
  /// Another process goes on with it: readers are cut off, and what is made from now on is nobody's.
  void suspend();
  bool is_suspended() const;
  /// Since when nobody has followed it, if it is running for somebody.
  std::optional<std::chrono::steady_clock::time_point> lost_since() const;

  bool is_over() const;
  /// All events, one behind the other.
  std::string events() const;
  size_t bytes() const;
  /// Takes over the events of a run that is over.
  void restore(HttpResponse head, std::string_view events, RunOutcome outcome);

 private:
  struct Follower {
    std::shared_ptr<Exchange> reader;
    size_t next = 0;
    bool begun = false;
  };
  using Followers = std::list<Follower>;

  void pump() KVERN_REQUIRES(mutex_);
  bool pump(Follower& follower) KVERN_REQUIRES(mutex_);
  void finish();
  void leave(const Exchange* reader);
  void end_generation();
  bool deaf() const KVERN_REQUIRES(mutex_) { return over_ || suspended_; }

  const HttpRequest request_;
  const RunFacts facts_;
  const std::unique_ptr<RunScope> scope_;
  const std::function<void(const std::shared_ptr<Run>&)> over_callback_;
  std::string id_;

  mutable Mutex mutex_;
  std::optional<HttpResponse> head_ KVERN_GUARDED_BY(mutex_);    // of a stream
  std::optional<HttpResponse> answer_ KVERN_GUARDED_BY(mutex_);  // without one
  std::vector<std::string> events_ KVERN_GUARDED_BY(mutex_);
  size_t event_bytes_ KVERN_GUARDED_BY(mutex_) = 0;
  std::string body_ KVERN_GUARDED_BY(mutex_);
  RunOutcome outcome_ KVERN_GUARDED_BY(mutex_);
  Followers followers_ KVERN_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> close_callbacks_ KVERN_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> shown_callbacks_ KVERN_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> over_callbacks_ KVERN_GUARDED_BY(mutex_);
  std::optional<std::chrono::steady_clock::time_point> lost_ KVERN_GUARDED_BY(mutex_);
  bool shown_ KVERN_GUARDED_BY(mutex_) = false;
  bool over_ KVERN_GUARDED_BY(mutex_) = false;
  bool closed_ KVERN_GUARDED_BY(mutex_) = false;  // the generation was told to end
  bool cancelled_ KVERN_GUARDED_BY(mutex_) = false;
  bool discarded_ KVERN_GUARDED_BY(mutex_) = false;
  bool suspended_ KVERN_GUARDED_BY(mutex_) = false;
};

}  // namespace kvern::server
