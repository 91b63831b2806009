#include "store/journal/journal_segment.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "store/journal/records.h"

namespace kvern::store {
namespace {

constexpr size_t kFrameBytes = 56;  // of a ForgottenRecord

/// Frames of runs 1, 2, ...; the durable sequence that each tells of.
struct Segment {
  explicit Segment(const std::vector<uint64_t>& durable) {
    const auto head = encode_segment_header(header);
    bytes.assign(head.begin(), head.end());
    for (size_t i = 0; i < durable.size(); ++i) {
      append_frame({.type = 5, .sequence = i + 1, .durable = durable[i]}, header.number,
                   encode_record(ForgottenRecord{.run = i + 1}), bytes);
    }
  }
  void damage(size_t frame, size_t byte = 50) {
    bytes[kSegmentHeaderBytes + frame * kFrameBytes + byte] ^= std::byte{4};
  }
  /// The sequence numbers that are read.
  std::vector<uint64_t> read(SegmentPlace place = SegmentPlace::kLast) {
    content = read_segment(header, bytes, place);
    std::vector<uint64_t> sequences;
    for (const Frame& frame : content.frames) sequences.push_back(frame.sequence);
    return sequences;
  }

  SegmentHeader header{.number = 5, .first_sequence = 1, .snapshot = false};
  std::vector<std::byte> bytes;
  SegmentContent content;
};

using Sequences = std::vector<uint64_t>;

TEST(JournalSegment, whole_ones_are_read_whole) {
  Segment segment({0, 1, 1, 3});
  EXPECT_EQ(segment.read(), (Sequences{1, 2, 3, 4}));
  EXPECT_EQ(segment.content.torn_bytes, 0U);
  EXPECT_TRUE(segment.content.damage.empty());
}

TEST(JournalSegment, a_torn_end_is_cut_off_wherever_it_is_torn) {
  for (size_t size = kSegmentHeaderBytes; size < kSegmentHeaderBytes + 4 * kFrameBytes; ++size) {
    Segment segment({0, 1, 1, 3});
    segment.bytes.resize(size);
    const size_t whole = (size - kSegmentHeaderBytes) / kFrameBytes;
    EXPECT_EQ(segment.read().size(), whole);
    EXPECT_EQ(segment.content.torn_bytes, (size - kSegmentHeaderBytes) % kFrameBytes);
    EXPECT_TRUE(segment.content.damage.empty());
  }
}

TEST(JournalSegment, records_behind_a_hole_that_was_never_durable_do_not_count) {
  Segment segment({0, 1, 1, 1});
  segment.damage(1);  // record 2: nobody says that it was durable
  EXPECT_EQ(segment.read(), (Sequences{1}));
  EXPECT_EQ(segment.content.torn_bytes, 3 * kFrameBytes);
  EXPECT_TRUE(segment.content.damage.empty());
}

TEST(JournalSegment, damage_in_what_was_durable_is_told_and_skipped) {
  Segment segment({0, 1, 2, 3});
  segment.damage(1);
  EXPECT_EQ(segment.read(), (Sequences{1, 3, 4}));
  ASSERT_EQ(segment.content.damage.size(), 1U);
  EXPECT_EQ(segment.content.damage[0].records, 1U);
  EXPECT_EQ(segment.content.damage[0].bytes, kFrameBytes);
  EXPECT_EQ(segment.content.damage[0].offset, kSegmentHeaderBytes + kFrameBytes);
}

TEST(JournalSegment, behind_damage_an_end_that_was_not_durable_is_still_cut_off) {
  Segment segment({0, 1, 2, 3, 3});
  segment.damage(1);
  segment.damage(3);  // record 4 is not among what was durable
  EXPECT_EQ(segment.read(), (Sequences{1, 3}));
  EXPECT_EQ(segment.content.damage.size(), 1U);
  EXPECT_EQ(segment.content.torn_bytes, 2 * kFrameBytes);
}

TEST(JournalSegment, before_the_last_one_everything_had_been_durable) {
  Segment segment({0, 0, 0});
  segment.damage(1);
  EXPECT_EQ(segment.read(SegmentPlace::kBefore), (Sequences{1, 3}));
  EXPECT_EQ(segment.content.damage.size(), 1U);
  segment.damage(2);
  EXPECT_EQ(segment.read(SegmentPlace::kBefore), (Sequences{1}));
  EXPECT_EQ(segment.content.damage.size(), 1U);
  EXPECT_EQ(segment.content.torn_bytes, 0U);
}

TEST(JournalSegment, a_wrong_length_does_not_hide_what_follows) {
  Segment segment({0, 1, 2, 3});
  segment.damage(1, 5);  // the length
  EXPECT_EQ(segment.read(), (Sequences{1, 3, 4}));
}

}  // namespace
}  // namespace kvern::store
