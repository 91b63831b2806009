// What the journal writes: records in segment files. The byte tables are in docs/formats/journal.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace kvern::store {

/// A sampled token, with its log-probabilities where they were asked for.
struct JournalToken {
  int32_t token = 0;
  std::optional<float> logprob;
  std::vector<std::pair<int32_t, float>> top;
  bool operator==(const JournalToken&) const = default;
};

/// A request that was let in: all that is needed to run it again with the same outcome. `run` names it in all
/// other records.
struct AcceptedRecord {
  uint64_t run = 0;
  uint64_t previous = 0;   ///< the run that it goes on from; 0: none
  uint64_t salt = 0;       ///< of the ids in its answer, and of a seed that nobody gave
  int64_t created_ms = 0;  ///< since 1970
  uint64_t seed = 0;       ///< as resolved
  std::string model;       ///< what the outcome depends on, beside this
  std::string id;          ///< as its client knows it
  std::string route;
  std::string client;
  std::string cache_namespace;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::vector<int32_t> prompt;
  bool operator==(const AcceptedRecord&) const = default;
};

/// Its prompt is being computed.
struct StartedRecord {
  uint64_t run = 0;
  int64_t cached_tokens = 0;
  bool operator==(const StartedRecord&) const = default;
};

/// Tokens of one choice, from its token `first` on.
struct SampledRecord {
  uint64_t run = 0;
  uint32_t choice = 0;
  uint64_t first = 0;
  std::vector<JournalToken> tokens;
  bool operator==(const SampledRecord&) const = default;
};

/// It is over. What was kept of it is its owner's to understand.
struct EndedRecord {
  uint64_t run = 0;
  uint64_t previous = 0;   ///< as in its AcceptedRecord
  int64_t expires_ms = 0;  ///< since 1970: nothing of it is wanted from then on
  std::string content;     ///< empty: nothing is kept
  std::string events;
  bool operator==(const EndedRecord&) const = default;
};

/// Nobody may see it any more.
struct ForgottenRecord {
  uint64_t run = 0;
  bool operator==(const ForgottenRecord&) const = default;
};

using JournalRecord =
    std::variant<AcceptedRecord, StartedRecord, SampledRecord, EndedRecord, ForgottenRecord>;

/// The run that a record is about.
uint64_t run_of(const JournalRecord& record);

/// 1 + the index in JournalRecord.
uint16_t type_of(const JournalRecord& record);
std::vector<std::byte> encode_record(const JournalRecord& record);
/// kCorrupt where the bytes are no record of this type, kUnsupported for a type that is not known.
Result<JournalRecord> decode_record(uint16_t type, std::span<const std::byte> bytes);

inline constexpr size_t kSegmentHeaderBytes = 64;
inline constexpr size_t kFrameHeaderBytes = 48;
inline constexpr size_t kMaxRecordBytes = size_t{256} << 20;

struct SegmentHeader {
  uint64_t number = 0;
  uint64_t first_sequence = 0;
  /// It has all that lives of the segments before it, which do not count any more.
  bool snapshot = false;
  bool operator==(const SegmentHeader&) const = default;
};
std::array<std::byte, kSegmentHeaderBytes> encode_segment_header(const SegmentHeader& header);
Result<SegmentHeader> decode_segment_header(std::span<const std::byte> bytes);

/// A record's place in the journal.
struct FrameHeader {
  uint16_t type = 0;
  uint64_t sequence = 0;  ///< counts all records of the journal, from 1
  uint64_t durable = 0;   ///< records up to this one were durable when this one was written
};
/// Frame and payload, padded to a multiple of 8, appended to `out`.
void append_frame(const FrameHeader& header, uint64_t segment, std::span<const std::byte> payload,
                  std::vector<std::byte>& out);

struct Frame : FrameHeader {
  std::span<const std::byte> payload;
  size_t bytes = 0;  ///< with header and padding
};
/// The frame at the beginning of `bytes`; none where there is none, or it is damaged.
std::optional<Frame> read_frame(std::span<const std::byte> bytes, uint64_t segment);
/// Whether a frame could begin here: cheap.
bool looks_like_frame(std::span<const std::byte> bytes);

}  // namespace kvern::store
