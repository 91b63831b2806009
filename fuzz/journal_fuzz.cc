// Segments of a journal: any bytes behind a head that is right; by the first byte, frames that are right
// around any payload. What is read can be written, and reads as the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <span>
#include <vector>

#include "store/journal/journal_segment.h"
#include "store/journal/journal_state.h"

namespace {

using namespace kvern;
using namespace kvern::store;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Cuts the input into payloads: type, length, bytes.
void append_frames(std::span<const std::byte> input, std::vector<std::byte>& out) {
  uint64_t sequence = 1;
  while (input.size() >= 2) {
    const auto type = static_cast<uint16_t>(input[0]);
    const size_t size = std::min(static_cast<size_t>(input[1]), input.size() - 2);
    append_frame({.type = type, .sequence = sequence, .durable = sequence - 1}, 1, input.subspan(2, size),
                 out);
    ++sequence;
    input = input.subspan(2 + size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data + 1, size - 1));
  const SegmentHeader header{.number = 1, .first_sequence = 1, .snapshot = false};
  const auto head = encode_segment_header(header);
  std::vector<std::byte> bytes(head.size());
  std::ranges::copy(head, bytes.begin());
  if ((data[0] & 1) != 0)
    append_frames(rest, bytes);
  else
    std::ranges::copy(rest, std::back_inserter(bytes));
  static_cast<void>(decode_segment_header(rest));
  const SegmentPlace place = (data[0] & 2) != 0 ? SegmentPlace::kLast : SegmentPlace::kBefore;
  const SegmentContent content = read_segment(header, bytes, place);
  JournalState state;
  for (const Frame& frame : content.frames) {
    auto record = decode_record(frame.type, frame.payload);
    if (!record) {
      require(!record.error().message.empty());
      continue;
    }
    const std::vector<std::byte> again = encode_record(*record);
    require(std::ranges::equal(again, frame.payload));
    state.apply(*std::move(record));
  }
  for (const JournalledRun& run : state.live(0)) require(run.run <= state.last_run());
  return 0;
}
