// Reads one segment of a journal: what is whole in it, and what is not.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "store/journal/journal_format.h"

namespace kvern::store {

/// Whether a segment is the one that was being written: only there a broken end is no damage.
enum class SegmentPlace : uint8_t { kBefore, kLast };

struct SegmentDamage {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t records = 0;  ///< that are missing; 0: not known, they are the last ones
};

struct SegmentContent {
  std::vector<Frame> frames;  ///< in order; they point into the bytes that were read
  /// What was durable and is not readable. Frames behind it are there.
  std::vector<SegmentDamage> damage;
  uint64_t torn_bytes = 0;  ///< at the end: of writes that a crash cut off
};

/// `bytes`: the whole file, its header included. Frames whose records were written, but not durable when the
/// power went, may be there without those before them: from the first one that is not readable on, everything
/// is cut off, unless a later one says that it had been durable; then it is damage, and what follows counts.
/// Before the last segment everything had been durable.
SegmentContent read_segment(const SegmentHeader& header, std::span<const std::byte> bytes,
                            SegmentPlace place);

}  // namespace kvern::store
