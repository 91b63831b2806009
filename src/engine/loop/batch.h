// The one lane: plan, one ragged forward pass, sample each row, deliver, retire. One request or a hundred.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/load/engine.h"
#include "engine/loop/loop_options.h"
#include "engine/loop/request_check.h"
#include "engine/loop/row.h"
#include "engine/loop/row_storage.h"
#include "engine/loop/sampling.h"
#include "engine/request/generation_service.h"
#include "engine/schedule/fair_queue.h"

namespace kvern::engine {

/// The requests of one engine, advanced step by step. One thread, the engine's; EngineLoop gives it one of
/// its own. Receivers are called inside step(), and may call submit() and cancel() there.
///
/// A step: requests that are cancelled or late end; rows that were moved out come back, oldest first; then
/// waiting requests are admitted in the order of the FairQueue, as far as rows and bytes allow (those whose
/// beginning a tier has wait for that, and hold nobody up); the plan is
/// computed in one pass; each row that has logits samples its token and delivers it; rows that have ended
/// give back their storage. When there is no storage for the pass, kept prefixes go first, then the newest
/// row moves out, then chunks get shorter; a row fails for want of memory only when it is alone and gets no
/// further. What stands outside has a bound: who might come to need more is not admitted, or rests.
class Batch {
 public:
  /// The engine and the clock outlive it.
  Batch(Engine& engine, const Clock& clock, const LoopOptions& options);
  /// Cancels what is open.
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// As GenerationService::submit.
  Result<Ticket> submit(ServiceRequest request, std::shared_ptr<GenerationSink> sink);
  /// submit() of a request that has passed checks() and gets its ticket from the caller: never one twice.
  void enqueue(Ticket ticket, ServiceRequest request, std::shared_ptr<GenerationSink> sink);
  /// The request ends at the beginning of the next step. Ignored for one that is not open.
  void cancel(Ticket ticket);
  void cancel_all();
  /// Ends all requests with this error, now, and touches nothing but their receivers: for a loop that is at
  /// fault.
  void fail_all(const Error& error);

  /// `call` comes before the last event of each request: stats() tell of the whole request then, so that who
  /// publishes them shows no older ones to a client that has got its answer.
  void before_last_events(std::function<void()> call) { before_last_event_ = std::move(call); }

  /// Does one step's work; nothing when idle.
  void step();
  /// No request is open.
  bool idle() const { return requests_.empty(); }
  /// When step() has something to do although it is idle: rows are saved in the background.
  std::optional<TimePoint> next_step() const;
  /// Begins to save all that is kept and not saved yet; steps go on with it as long as saves_left().
  void begin_flush();
  bool saves_left() const;
  /// What is to be safe when saves_left() does not hold any more.
  std::vector<KeptTokens> to_be_saved() const;
  /// begin_flush(), steps, and the tiers' own flush, on the caller's thread.
  FlushReport flush(TimePoint deadline);

  const RequestCheck& checks() const { return checks_; }
  /// Requests that wait for their first step.
  int64_t waiting() const;
  ServiceStats stats() const;
  /// Running rows, then those outside, then what waits for a tier, then what waits.
  std::vector<RowInfo> rows() const;

 private:
  /// A row of the step that is being made.
  struct Work {
    Row* row = nullptr;
    int64_t tokens = 0;
  };
  /// A request that waits because a running row is computing the beginning of its prompt.
  struct Follower {
    Request* request = nullptr;
    Ticket leader{};
    int64_t common = 0;  ///< tokens that it waits for
  };
  /// Requests that wait for what a tier gives them.
  struct Restoring {
    std::unique_ptr<PrefixRestore> restore;
    std::vector<Request*> requests;
  };
  enum class TierAnswer : uint8_t { kNothing, kAsking, kComing, kNoRoom };
  enum class LogitUse : uint8_t { kOwn, kShared };
  enum class TokenOrigin : uint8_t { kSampled, kReplayed };
  /// What has been tried for a step that found no storage.
  enum class Relief : uint8_t { kRetry, kLater, kNothingLeft };

  // batch.cc
  void end_cancelled();
  void end_late(TimePoint now);
  void charge();
  void charge(Request& request);
  void sweep();

  // batch_admit.cc
  void bring_in();
  void admit(TimePoint now);
  bool start(Request& request);
  Status prepare(Request& request);
  bool begin(Request& request);
  void start_followers();
  std::optional<Follower> leader_of(Request& request) const;
  bool still_leads(const Follower& follower) const;
  bool make_room(const Row& row, size_t bytes);
  int64_t places() const;
  void join(Row& row);
  void insert_outside(Row& row);

  // batch_outside.cc
  bool bounds_outside() const;
  std::vector<Request*> standing_requests() const;
  Standing standing_of(const Request& request, Growth growth) const;
  bool may_join(Row& row) const;
  bool may_leave(const Row& row) const;
  bool give_way_to(const Request& request);
  void look_outside();
  void free_for_older();

  // batch_restore.cc
  TierAnswer ask_tiers(Request& request, int64_t known);
  std::pair<Restoring*, int64_t> shared_restore(const Row& row);
  void step_tiers(TimePoint now);
  void tell_tiers();
  void step_restores(TimePoint now);
  void end_restore(size_t index);
  void use_restored(const Restoring& restoring, const store::RowRestore::Row& made);
  void give_up_restore(size_t index);
  bool drop_restored_storage();
  size_t restoring_bytes() const;
  bool wait_for_saves();

  // batch_compute.cc
  void plan_work();
  std::optional<std::span<float>> compute();
  Result<std::span<float>> forward();
  Relief relieve();
  Engine::Logits logits_of(const Work& work) const;
  enum class OutsideBound : uint8_t { kHolds, kGivesWay };
  bool move_out_newest(MoveRule rule, OutsideBound bound = OutsideBound::kHolds);
  bool shorten_work();
  void move_out(Row& row);
  void fail_work(const Error& error);

  // batch_deliver.cc
  void advance(std::span<float> logits);
  Status advance_prompt(Row& row, int64_t computed, std::span<float> logits);
  Status read_prompt_logprobs(Row& row, int64_t computed, std::span<const float> logits);
  Status split(Row& row, std::span<float> logits);
  void add_task(Row& row, std::span<float> logits, LogitUse use);
  void deliver(SampleTask& task);
  bool start_over(Row& row, const Error& error);
  void accept_token(Row& row, ReplayedToken token, TokenOrigin origin);
  void settle_split(Request& request);
  std::optional<FinishReason> finish_reason(const Row& row, bool is_end) const;

  // batch_replay.cc
  void replay(Request& request);
  void count_prompt(const Request& request, int64_t cached, int64_t computed);

  // batch_retire.cc
  void end_row(Row& row, FinishReason reason);
  void end_request(Request& request);
  void cancel_request(Request& request);
  void fail_request(Request& request, Error error, AfterRow after = AfterRow::kRemove);
  void release(Row& row, AfterRow after);
  void close(Request& request, AfterRow after);

  Engine& engine_;
  const Clock& clock_;
  LoopOptions options_;
  RequestCheck checks_;
  RowStorage storage_;
  FairQueue queue_;

  std::map<uint64_t, std::unique_ptr<Request>> requests_;  // open ones, by ticket
  std::vector<Follower> followers_;
  std::vector<Restoring> restoring_;
  std::vector<Row*> running_;  // with their state in the cache; oldest first
  std::vector<Row*> outside_;  // moved out; oldest first
  std::vector<Ticket> cancelled_;
  std::vector<Ticket> ended_;  // still in requests_
  bool rows_ended_ = false;    // some are still in the lists above
  uint64_t next_ticket_ = 1;
  uint64_t next_order_ = 1;
  uint64_t releases_ = 0;                     // grows when storage may have become free
  std::pair<uint64_t, uint64_t> blocked_{};   // the ticket that found no room, and releases_ at that time
  std::optional<TimePoint> next_deadline_{};  // none of an open request is earlier
  uint64_t saves_released_ = 0;               // as of the last look at what tiers have saved
  int64_t steps_to_look_ = 0;                 // until look_outside() has to look at the rows again
  std::optional<TimePoint> starved_since_{};  // the only row waits for storage that tiers hold

  // Of the step that is being made.
  std::vector<Work> work_;
  std::vector<Row*> planned_;  // rows that do not rest
  bool compacted_ = false;
  std::vector<SampleTask> tasks_;
  std::vector<Request*> splitting_;
  double outside_seconds_ = 0;  // of the step, in passes and sampling

  ServiceStats stats_;  // counters alone
  std::function<void()> before_last_event_ = [] {};
};

}  // namespace kvern::engine
