// The segment files of a journal: found and read after a crash, written one behind the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "store/journal/journal_state.h"

namespace kvern::store {

/// What the files of a directory say.
struct JournalRecovery {
  JournalState state;
  std::vector<std::string> paths;  ///< of all files of the journal, also those that do not count any more
  uint64_t bytes = 0;              ///< of them
  uint64_t last_segment = 0;
  uint64_t last_sequence = 0;
  uint64_t torn_bytes = 0;
  std::vector<std::string> damage;  ///< for people: what was durable and cannot be read
};

/// Reads all segments. The directory exists. kUnsupported when a newer program has written there; what is
/// damaged is no error.
Result<JournalRecovery> recover_journal(Files& files, const std::string& directory);

/// A segment that is being written. One thread.
class JournalSegment {
 public:
  /// The file gets its name when its content is durable: with these records, or none.
  static Result<std::unique_ptr<JournalSegment>> create(Files& files, const std::string& directory,
                                                        const SegmentHeader& header,
                                                        const std::vector<JournalRecord>& records);
  /// Behind what was written; an error leaves the segment without a use. Records are numbered on.
  Status append(const std::vector<JournalRecord>& records);
  /// All of it is durable then.
  Status sync();

  const std::string& path() const { return path_; }
  uint64_t number() const { return header_.number; }
  uint64_t bytes() const { return offset_; }
  uint64_t last_sequence() const { return sequence_; }

 private:
  JournalSegment(const SegmentHeader& header, std::string path)
      : header_(header), path_(std::move(path)), sequence_(header.first_sequence - 1) {}

  const SegmentHeader header_;
  std::string path_;
  std::unique_ptr<File> file_;
  uint64_t offset_ = 0;
  uint64_t sequence_ = 0;  // of the last record
  uint64_t durable_ = 0;
};

}  // namespace kvern::store
