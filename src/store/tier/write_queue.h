// Saves on a thread of their own, the oldest first; bounded by bytes, and in the time it takes from others.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "store/disk/new_entry.h"
#include "store/tier/tier.h"

namespace kvern::store {

struct WriteQueueOptions {
  /// What waiting entries may hold; beyond it the oldest that waits is dropped, never the newest nor the one
  /// that is being saved.
  uint64_t max_bytes = uint64_t{2} << 30;
  /// What saving takes of the time of all processors while they are wanted, at most.
  double busy_share = 0.01;
};

/// Thread-safe. Destroying it ends after the entry that is being saved; flush first to keep the others.
class WriteQueue {
 public:
  /// Saves an entry; false when it was declined. Called on the queue's thread, one entry at a time.
  using Save = std::function<Result<bool>(const NewEntry&)>;

  /// `log` is borrowed: it gets one warning for a row of failures. `name` says who saves.
  WriteQueue(std::string name, Save save, LogSink& log, const WriteQueueOptions& options);
  ~WriteQueue();
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  /// False when the entry alone is more than may wait.
  bool push(NewEntry entry);
  /// See Tier::set_busy.
  void set_busy(bool busy);
  /// See Tier::flush.
  FlushReport flush(std::chrono::steady_clock::time_point deadline);
  /// What a tier says of itself that is known here.
  TierStats stats();

 private:
  struct Item {
    uint64_t number = 0;
    uint64_t bytes = 0;
    NewEntry entry;
  };
  void run();
  void rest();
  uint64_t left(uint64_t last) const KVERN_REQUIRES(mutex_);

  void report(const Result<bool>& saved);

  std::string name_;
  Save save_;
  LogSink& log_;
  bool failing_ = false;  // of the thread
  WriteQueueOptions options_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Item> waiting_ KVERN_GUARDED_BY(mutex_);
  uint64_t next_number_ KVERN_GUARDED_BY(mutex_) = 1;
  uint64_t in_flight_ KVERN_GUARDED_BY(mutex_) = 0;
  uint64_t waiting_bytes_ KVERN_GUARDED_BY(mutex_) = 0;
  TierStats counts_ KVERN_GUARDED_BY(mutex_);  // of offers that are over
  int flushes_ KVERN_GUARDED_BY(mutex_) = 0;   // that wait
  bool busy_ KVERN_GUARDED_BY(mutex_) = false;
  bool stop_ KVERN_GUARDED_BY(mutex_) = false;
  std::chrono::nanoseconds worked_{};  // of the thread: its time on a processor when it last rested
  std::thread thread_;
};

}  // namespace kvern::store
