// What a tier has done, as plain numbers.
#pragma once

#include <cstdint>
#include <string>

namespace kvern::store {

struct TierStats {
  std::string name;
  int64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t pinned_bytes = 0;  ///< of them, those that no room is made of
  uint64_t other_bytes = 0;   ///< of an index and other files beside them
  uint64_t evicted = 0;       ///< entries that went to make room
  uint64_t lookups = 0;
  uint64_t hits = 0;
  uint64_t saved = 0;
  uint64_t declined = 0;  ///< offers, for what reason ever
  uint64_t dropped = 0;   ///< of them, since newer ones came while they waited
  uint64_t failed = 0;    ///< saves that ended in an error
  uint64_t pending = 0;   ///< offers that wait or are being saved
  uint64_t pending_bytes = 0;
  uint64_t blocks_written = 0;
  uint64_t blocks_reused = 0;
  uint64_t bytes_written = 0;
  uint64_t bytes_read = 0;
  uint64_t damaged = 0;
  uint64_t late = 0;        ///< lookups that were not answered in time: misses
  uint64_t unanswered = 0;  ///< calls to a server that it did not answer
};

/// What flush() could promise.
struct FlushReport {
  bool durable =
      false;  ///< all that had been offered is saved and there; nothing was dropped, declined or failed
  uint64_t saved = 0;
  uint64_t dropped = 0;   ///< since newer ones came while they waited
  uint64_t declined = 0;  ///< that no place takes: too large, or a server that does not answer
  uint64_t failed = 0;
  uint64_t evicted = 0;  ///< of what is kept, what is gone again since others needed the room
  uint64_t left = 0;     ///< that the deadline left unsaved
};

}  // namespace kvern::store
