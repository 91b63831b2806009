// A journal of requests: what was asked, what was sampled, what became of it, so that a process which was
// killed is gone on with by the next one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mutex.h"
#include "store/journal/journal_files.h"

namespace kvern::store {

/// When what is written becomes durable: survives a power cut. What is only written survives the process. In
/// no case is anything wrong afterwards: tokens that were lost are sampled again, and are the same.
enum class JournalSync : uint8_t {
  kAlways,    ///< at once
  kInterval,  ///< requests and their ends at once, tokens every `interval`
  kNever,     ///< when the system likes; written as in kInterval
};

struct JournalOptions {
  std::string directory;  ///< made if there is none; its parent exists
  JournalSync sync = JournalSync::kInterval;
  std::chrono::milliseconds interval{50};
  uint64_t segment_bytes = uint64_t{64} << 20;
  /// Of all segments. When there are more, those are written anew without what is over; of what was kept, the
  /// newest that take half of it stay.
  uint64_t max_bytes = uint64_t{256} << 20;
  /// So often they are written anew at least, if anything was written: what is over does not lie there
  /// longer.
  std::chrono::milliseconds max_age{std::chrono::hours(1)};
};

struct JournalStats {
  uint64_t records = 0;  ///< written by this process
  uint64_t commits = 0;
  uint64_t failures = 0;  ///< of commits
  uint64_t rewrites = 0;
  uint64_t bytes = 0;  ///< on disk now
};

/// Thread-safe. A thread of its own does all writing, in groups; no call waits for the disk but flush() and
/// the destructor, and none fails: when the disk does, that is logged, what was not written is kept (up to a
/// bound) and tried again, and requests go on without.
///
/// One process at a time: the lock is held as long as the object lives.
class Journal {
 public:
  /// All outlive it.
  struct Parts {
    Files& files;
    LogSink& log;
    const Clock& clock;
  };
  struct Opened;
  /// Reads what is there, writes what still matters of it into a new segment and removes the old ones.
  /// Errors: the directory cannot be used, another process has it (kExhausted), a newer program wrote it.
  static Result<Opened> open(const Parts& parts, const JournalOptions& options);
  /// Writes what was given to it.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// A name that no run has.
  uint64_t next_run() { return next_run_.fetch_add(1, std::memory_order_relaxed); }
  /// `written` is called once, on the journal's thread: the request will be known after a crash, or there is
  /// no way to make it so (then perhaps at once). Must return at once.
  void accept(AcceptedRecord record, std::function<void()> written);
  void start(StartedRecord record);
  /// Token `index` of a choice. Cheap: made for the loop's thread.
  void sampled(uint64_t run, uint32_t choice, uint64_t index, JournalToken token);
  void end(EndedRecord record);
  void forget(uint64_t run);

  /// Whether all that was given before was made durable by then (kNever: written).
  bool flush(std::chrono::steady_clock::time_point deadline);
  JournalStats stats() const;

 private:
  struct Token {
    uint64_t run = 0;
    uint32_t choice = 0;
    uint64_t index = 0;
    JournalToken token;
  };
  struct Pending {
    std::vector<JournalRecord> records;
    std::vector<Token> tokens;
    std::vector<std::function<void()>> written;
    bool urgent = false;
    bool empty() const { return records.empty() && tokens.empty(); }
  };

  Journal(const Parts& parts, JournalOptions options);
  void push(JournalRecord record, std::function<void()> written, bool urgent);
  void run();
  bool wait_for_work() KVERN_REQUIRES(mutex_);
  void commit(Pending pending);
  Status write(const std::vector<JournalRecord>& records);
  Status open_segment();
  Status rewrite(std::vector<JournalledRun>* found);
  void rewrite_if_due();
  static std::vector<JournalRecord> records_of(Pending& pending);

  const Parts parts_;
  const JournalOptions options_;
  std::unique_ptr<FileLock> lock_;
  std::atomic<uint64_t> next_run_{1};

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  Pending pending_ KVERN_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point first_pending_ KVERN_GUARDED_BY(mutex_);
  uint64_t given_ KVERN_GUARDED_BY(mutex_) = 0;      // records and tokens
  uint64_t committed_ KVERN_GUARDED_BY(mutex_) = 0;  // of them, in groups that are written
  bool stop_ KVERN_GUARDED_BY(mutex_) = false;
  JournalStats stats_ KVERN_GUARDED_BY(mutex_);

  // The thread's.
  std::unique_ptr<JournalSegment> segment_;  // null after a failure
  uint64_t last_segment_ = 0;
  uint64_t last_sequence_ = 0;
  uint64_t old_bytes_ = 0;                // of the segments before
  std::vector<JournalRecord> unwritten_;  // of commits that failed
  bool failing_ = false;
  bool written_since_rewrite_ = false;
  std::chrono::steady_clock::time_point last_rewrite_;
  std::thread thread_;
};

struct Journal::Opened {
  std::unique_ptr<Journal> journal;
  std::vector<JournalledRun> runs;  ///< see JournalState::live
};

}  // namespace kvern::store
