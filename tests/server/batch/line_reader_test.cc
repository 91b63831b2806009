#include "server/batch/line_reader.h"

#include <random>

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "support/result_matchers.h"

namespace kvern::server {
namespace {

class LineReaderTest : public testing::Test {
 protected:
  void put(std::string_view text) {
    auto file = files_->open("/lines", OpenMode::kCreate);
    ASSERT_OK(file);
    ASSERT_OK((*file)->write_at(0, std::as_bytes(std::span(text))));
  }
  std::vector<LineReader::Line> read(size_t max_line_bytes = 1000) {
    std::vector<LineReader::Line> lines;
    auto reader = LineReader::open(*files_, "/lines", max_line_bytes);
    EXPECT_OK(reader);
    for (;;) {
      auto line = reader->next();
      EXPECT_OK(line);
      if (!*line) return lines;
      lines.push_back(**line);
    }
  }
  std::unique_ptr<Files> files_ = make_memory_files();
};

TEST_F(LineReaderTest, GivesNumberPlaceAndText) {
  put("one\n\r\ntwo\r\n three");
  const auto lines = read();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].text, "one");
  EXPECT_EQ(lines[1].text, "");
  EXPECT_EQ(lines[2].text, "two");
  EXPECT_EQ(lines[2].number, 3);
  EXPECT_EQ(lines[2].offset, 6U);
  EXPECT_TRUE(lines[2].ended);
  EXPECT_EQ(lines[3].text, " three");
  EXPECT_FALSE(lines[3].ended);
}

TEST_F(LineReaderTest, AnEmptyFileHasNoLines) {
  put("");
  EXPECT_TRUE(read().empty());
  put("\n");
  EXPECT_EQ(read().size(), 1U);
}

TEST_F(LineReaderTest, LeavesOutAByteOrderMark) {
  put("\xef\xbb\xbf{}\n");
  const auto lines = read();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].text, "{}");
  EXPECT_EQ(lines[0].offset, 3U);
}

TEST_F(LineReaderTest, SkipsTheTextOfLinesThatAreTooLong) {
  put("12345\n123456\n12\n1234567");
  const auto lines = read(5);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].text, "12345");
  EXPECT_TRUE(lines[1].too_long);
  EXPECT_EQ(lines[1].text, "");
  EXPECT_EQ(lines[2].text, "12");
  EXPECT_TRUE(lines[3].too_long);
  EXPECT_FALSE(lines[3].ended);
}

// Blocks of the reader are 1 MiB.
TEST_F(LineReaderTest, DoesNotShowWhereBlocksEnd) {
  std::mt19937 random(3);
  std::vector<std::string> expected;
  std::string all;
  while (all.size() < (size_t{5} << 20)) {
    const size_t length = random() % 4 == 0 ? random() % 600'000 : random() % 5000;
    expected.emplace_back(length, static_cast<char>('a' + random() % 26));
    all += expected.back() + "\n";
  }
  put(all);
  const auto lines = read(size_t{1} << 20);
  ASSERT_EQ(lines.size(), expected.size());
  for (size_t i = 0; i < lines.size(); ++i) ASSERT_EQ(lines[i].text, expected[i]) << "line " << i + 1;
}

TEST_F(LineReaderTest, SaysThatThereIsNoFile) {
  EXPECT_ERROR(LineReader::open(*files_, "/nowhere", 10), kNotFound, "/nowhere");
}

}  // namespace
}  // namespace kvern::server
