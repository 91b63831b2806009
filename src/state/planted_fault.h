// Faults that the conformance suite must find. Compiled in only where KVERN_PLANTED_FAULTS is defined, which
// one test program does for its own copy of these sources (tests/state/conformance); anywhere else planted()
// is a constant and nothing of it is left.
#pragma once

#include <cstdint>

namespace kvern::state {

/// Each is a kind of fault that systems like this one have had; what it breaks stands where it is planted.
enum class Fault : uint8_t {
  kNone,
  kWindowTooNarrow,         ///< the oldest position of a window is not seen
  kWindowTooWide,           ///< one position before the window is seen
  kSinkTooFew,              ///< the last sink is not seen
  kBoundaryByStep,          ///< precision is decided by the step's first position, not by each token's
  kFutureSeen,              ///< tokens of a chunk see what follows them
  kScaleOfNeighbour,        ///< scales are read one position further on
  kSoftmaxCount,            ///< the newest position of a tile gets no weight
  kTileMergedTwice,         ///< the first tile of a span counts twice
  kSpanMissing,             ///< a task that divides a row leaves its last span out
  kSinkLogitOfOtherHead,    ///< sink logits are taken from the first heads
  kOtherLayer,              ///< all layers of a group read and write the first one's storage
  kWrongSlotAfterWrap,      ///< a ring reads on one slot too far where it wraps
  kRingCopiedFromStart,     ///< a ring that changes its size is copied as if it had never wrapped
  kSharedPageWritten,       ///< a page that rows share is written without a copy
  kStaleCopy,               ///< a page is copied before writing, but not its content
  kFreedWhileShared,        ///< a page is free when its first user leaves
  kPaddedColumn,            ///< rows of a padded tensor move by a column
  kForkMissesNewest,        ///< a forked row lacks the last position in a slab
  kOneFormCut,              ///< a row is cut in the encoded form only
  kRollbackKeepsOne,        ///< one rejected token stays
  kDroppedEarly,            ///< a position leaves the window too soon
  kDroppedLate,             ///< a position stays behind the window for ever
  kOldPositionsNotEncoded,  ///< a row that begins to be encoded keeps nothing of what was there
  kFailureKeepsStorage,     ///< a step that fails in its second row keeps the storage of the first
  kRecordsShifted,          ///< an adopted row begins one record late
  kHeadNotExtracted,        ///< an image lacks the last head
  kScalesNotSaved,          ///< an image has the codes and not the scales
  kWindowNotSaved,          ///< an image does not tell how far back it goes
  kForbiddenCutPasses,      ///< a row can be cut to where its window is gone
  kDropsOneEachStep,        ///< a step of many tokens drops as if it had brought one
  kTokensOfOtherRow,        ///< rows get the tokens of the step's first row
  kSpansMergedBackwards,    ///< parts of a divided row are merged in another order
  kLast = kSpansMergedBackwards,
};

#ifdef KVERN_PLANTED_FAULTS
/// Defined by the test program.
extern Fault planted_fault;
inline bool planted(Fault fault) { return planted_fault == fault; }
#else
constexpr bool planted(Fault) { return false; }
#endif

}  // namespace kvern::state
