#include "store/journal/journal_format.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "store/journal/journal_segment.h"
#include "store/journal/records.h"
#include "support/result_matchers.h"
#include "support/shared_data.h"

namespace kvern::store {
namespace {

using test::all_kinds;

const std::string& golden_path() {
  static const std::string path = kvern::test::source_file("tests/data/formats/journal-1.kvj");
  return path;
}

/// A segment with one record of each kind.
std::vector<std::byte> sample_segment() {
  const auto head = encode_segment_header({.number = 3, .first_sequence = 10, .snapshot = true});
  std::vector<std::byte> bytes(head.begin(), head.end());
  uint64_t sequence = 10;
  for (const JournalRecord& record : all_kinds()) {
    append_frame({.type = type_of(record), .sequence = sequence, .durable = sequence - 1}, 3,
                 encode_record(record), bytes);
    ++sequence;
  }
  return bytes;
}

TEST(JournalFormat, what_is_written_is_read_as_the_same) {
  for (const JournalRecord& record : all_kinds()) {
    ASSERT_OK_AND_ASSIGN(const JournalRecord read, decode_record(type_of(record), encode_record(record)));
    EXPECT_EQ(read, record);
  }
}

TEST(JournalFormat, records_that_are_cut_or_too_long_are_corrupt) {
  for (const JournalRecord& record : all_kinds()) {
    std::vector<std::byte> bytes = encode_record(record);
    for (size_t size = 0; size < bytes.size(); ++size)
      EXPECT_FALSE(decode_record(type_of(record), std::span(bytes).first(size)).has_value());
    bytes.push_back({});
    EXPECT_FALSE(decode_record(type_of(record), bytes).has_value());
  }
}

TEST(JournalFormat, records_of_a_type_that_is_not_known_say_so) {
  const auto read = decode_record(99, encode_record(ForgottenRecord{.run = 1}));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kUnsupported);
}

TEST(JournalFormat, any_changed_byte_of_a_frame_makes_it_unreadable) {
  std::vector<std::byte> bytes;
  append_frame({.type = 5, .sequence = 1, .durable = 0}, 3, encode_record(ForgottenRecord{.run = 1}), bytes);
  ASSERT_EQ(bytes.size(), 56U);
  ASSERT_TRUE(read_frame(bytes, 3).has_value());
  EXPECT_FALSE(read_frame(bytes, 4).has_value()) << "it is of another segment";
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{1};
    EXPECT_FALSE(read_frame(bytes, 3).has_value()) << i;
    bytes[i] ^= std::byte{1};
  }
}

TEST(JournalFormat, heads_of_newer_versions_are_refused_and_damaged_ones_found) {
  auto head = encode_segment_header({.number = 3, .first_sequence = 10, .snapshot = false});
  ASSERT_OK_AND_ASSIGN(const SegmentHeader read, decode_segment_header(head));
  EXPECT_EQ(read, (SegmentHeader{.number = 3, .first_sequence = 10, .snapshot = false}));
  head[16] ^= std::byte{1};
  EXPECT_EQ(decode_segment_header(head).error().code, ErrorCode::kCorrupt);
}

// What a version has written must be readable for ever.
TEST(JournalFormat, the_golden_file_is_what_is_written_today) {
  const auto files = make_posix_files();
  ASSERT_OK_AND_ASSIGN(const std::string golden, read_file(*files, golden_path(), 1 << 20));
  const auto bytes = std::as_bytes(std::span(golden));
  const std::vector<std::byte> made = sample_segment();
  EXPECT_TRUE(std::ranges::equal(bytes, made));
  ASSERT_OK_AND_ASSIGN(const SegmentHeader header, decode_segment_header(bytes));
  const SegmentContent content = read_segment(header, bytes, SegmentPlace::kLast);
  ASSERT_EQ(content.frames.size(), all_kinds().size());
  for (size_t i = 0; i < content.frames.size(); ++i) {
    ASSERT_OK_AND_ASSIGN(const JournalRecord record,
                         decode_record(content.frames[i].type, content.frames[i].payload));
    EXPECT_EQ(record, all_kinds()[i]);
  }
}

// Makes the golden file of a new version: run with --gtest_also_run_disabled_tests.
TEST(JournalFormat, DISABLED_write_the_golden_file) {
  const auto files = make_posix_files();
  ASSERT_OK(write_file_atomically(*files, golden_path(), sample_segment()));
}

}  // namespace
}  // namespace kvern::store
