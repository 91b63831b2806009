// What the records of a journal add up to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "store/journal/journal_format.h"

namespace kvern::store {

/// One run as its records tell of it.
struct JournalledRun {
  uint64_t run = 0;
  /// Of one that has not ended.
  std::optional<AcceptedRecord> accepted;
  std::optional<int64_t> cached_tokens;           ///< nothing: it was not started
  std::vector<std::vector<JournalToken>> tokens;  ///< by choice, without gaps
  /// Of one that has.
  std::optional<EndedRecord> ended;
  /// It is there only for the runs that go on from it.
  bool hidden = false;
};

/// Takes records in any order, each as often as one likes: segments that are cleaned up leave copies. One
/// thread.
class JournalState {
 public:
  void apply(JournalRecord record);
  /// The runs that still matter, rising: those that have not ended, those that were kept, until they expire
  /// or are forgotten, and those that one of these goes on from, hidden.
  std::vector<JournalledRun> live(int64_t now_ms) const;
  /// No record names a later one.
  uint64_t last_run() const { return last_run_; }

 private:
  struct Run {
    std::optional<AcceptedRecord> accepted;
    std::optional<int64_t> cached_tokens;
    std::map<uint32_t, std::map<uint64_t, std::vector<JournalToken>>> pieces;  // by choice and first
    std::optional<EndedRecord> ended;
    bool forgotten = false;
  };
  void add(AcceptedRecord record);
  void add(StartedRecord record);
  void add(SampledRecord record);
  void add(EndedRecord record);
  void add(ForgottenRecord record);
  static std::vector<std::vector<JournalToken>> joined(const Run& run);

  std::map<uint64_t, Run> runs_;
  uint64_t last_run_ = 0;
};

}  // namespace kvern::store
