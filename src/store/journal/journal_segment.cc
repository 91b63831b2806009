#include "store/journal/journal_segment.h"

#include <algorithm>
#include <optional>

namespace kvern::store {
namespace {

constexpr size_t kAlignment = 8;

struct Found {
  size_t offset = 0;
  Frame frame;
};

/// The first readable frame at or behind an offset, that is not older than `sequence`.
std::optional<Found> next_frame(const SegmentHeader& header, std::span<const std::byte> bytes, size_t offset,
                                uint64_t sequence) {
  for (; offset + kFrameHeaderBytes <= bytes.size(); offset += kAlignment) {
    const auto here = bytes.subspan(offset);
    if (!looks_like_frame(here)) continue;
    const auto frame = read_frame(here, header.number);
    if (frame && frame->sequence >= sequence) return Found{.offset = offset, .frame = *frame};
  }
  return std::nullopt;
}

/// Up to which record the readable frames from an offset on know everything to be durable.
uint64_t durable_behind(const SegmentHeader& header, std::span<const std::byte> bytes, size_t offset,
                        uint64_t sequence) {
  uint64_t durable = 0;
  while (const auto found = next_frame(header, bytes, offset, sequence)) {
    durable = std::max(durable, found->frame.durable);
    offset = found->offset + found->frame.bytes;
  }
  return durable;
}

}  // namespace

SegmentContent read_segment(const SegmentHeader& header, std::span<const std::byte> bytes,
                            SegmentPlace place) {
  SegmentContent content;
  size_t offset = std::min(kSegmentHeaderBytes, bytes.size());
  uint64_t sequence = header.first_sequence;
  std::optional<uint64_t> durable;  // of what is behind; looked up once
  while (offset < bytes.size()) {
    const auto frame = read_frame(bytes.subspan(offset), header.number);
    if (frame && frame->sequence == sequence) {
      content.frames.push_back(*frame);
      offset += frame->bytes;
      ++sequence;
      continue;
    }
    if (!durable) durable = durable_behind(header, bytes, offset, sequence);
    const bool was_durable = place == SegmentPlace::kBefore || *durable >= sequence;
    const auto next = was_durable ? next_frame(header, bytes, offset, sequence) : std::nullopt;
    if (!next) {
      if (place == SegmentPlace::kBefore)
        content.damage.push_back({.offset = offset, .bytes = bytes.size() - offset});
      else
        content.torn_bytes = bytes.size() - offset;
      break;
    }
    content.damage.push_back(
        {.offset = offset, .bytes = next->offset - offset, .records = next->frame.sequence - sequence});
    offset = next->offset;
    sequence = next->frame.sequence;
  }
  return content;
}

}  // namespace kvern::store
