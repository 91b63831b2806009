#include "server/batch/result_file.h"

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "server/batch/batch_line.h"
#include "support/result_matchers.h"

namespace kvern::server {
namespace {

constexpr const char* kPath = "/out.jsonl";

class ResultFileTest : public testing::Test {
 protected:
  void put(std::string_view text) {
    auto file = files_->open(kPath, OpenMode::kCreate);
    ASSERT_OK(file);
    ASSERT_OK((*file)->write_at(0, std::as_bytes(std::span(text))));
  }
  std::string text() { return read_file(*files_, kPath, 1 << 20).value_or("no file"); }
  static json::object result(std::string_view id) { return failed_result(id, "1", "code", "message"); }
  static std::string line(std::string_view id) { return to_json(result(id)) + "\n"; }

  std::unique_ptr<Files> files_ = make_memory_files();
};

TEST_F(ResultFileTest, IsMadeAndGrowsByLines) {
  ASSERT_OK_AND_ASSIGN(ResultFile results, ResultFile::open(*files_, kPath));
  EXPECT_EQ(results.size(), 0U);
  ASSERT_OK(results.append("a", result("a")));
  ASSERT_OK(results.append("b", result("b")));
  ASSERT_OK(results.sync());
  EXPECT_TRUE(results.has("a"));
  EXPECT_FALSE(results.has("c"));
  EXPECT_EQ(text(), line("a") + line("b"));
}

TEST_F(ResultFileTest, KeepsWhatIsThere) {
  put(line("a") + "\n" + line("b"));
  ASSERT_OK_AND_ASSIGN(ResultFile results, ResultFile::open(*files_, kPath));
  EXPECT_EQ(results.size(), 2U);
  EXPECT_TRUE(results.has("b"));
  EXPECT_FALSE(results.repaired());
  ASSERT_OK(results.append("c", result("c")));
  EXPECT_EQ(text(), line("a") + "\n" + line("b") + line("c"));
}

// What has no end of line is a result that was cut off only where it begins like one.
TEST_F(ResultFileTest, LeavesTheLastLineOfAnotherFileAlone) {
  for (const std::string_view precious : {"my notes", R"({"precious": "data"})", "[]"}) {
    put(std::string(precious));
    EXPECT_FALSE(ResultFile::open(*files_, kPath).has_value());
    EXPECT_EQ(text(), precious);
  }
}

TEST_F(ResultFileTest, IsWrittenByOneAtATime) {
  ASSERT_OK_AND_ASSIGN(ResultFile results, ResultFile::open(*files_, kPath));
  const auto second = ResultFile::open(*files_, kPath);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kInvalidArgument);
}

// Wherever the program was killed in the middle of a line.
TEST_F(ResultFileTest, RemovesALineThatWasCutOff) {
  const std::string whole = line("a") + line("b");
  for (size_t size = line("a").size(); size <= whole.size(); ++size) {
    put(whole.substr(0, size));
    ASSERT_OK_AND_ASSIGN(ResultFile results, ResultFile::open(*files_, kPath));
    const bool complete = size >= whole.size() - 1;
    ASSERT_EQ(results.has("b"), complete) << "cut to " << size;
    ASSERT_EQ(results.repaired(), !complete && size > line("a").size());
    if (!complete) {
      ASSERT_OK(results.append("b", result("b")));
    }
    ASSERT_OK(results.append("c", result("c")));
    ASSERT_EQ(text(), whole + line("c"));
  }
}

TEST_F(ResultFileTest, SaysWhatIsNotDurableYet) {
  ASSERT_OK_AND_ASSIGN(ResultFile results, ResultFile::open(*files_, kPath));
  EXPECT_FALSE(results.unsynced());
  ASSERT_OK(results.append("a", result("a")));
  EXPECT_TRUE(results.unsynced());
  ASSERT_OK(results.sync());
  EXPECT_FALSE(results.unsynced());
}

TEST_F(ResultFileTest, WritesToNoOtherFile) {
  for (const std::string other : {"Dear diary\n", "{\"custom_id\": 1}\n", "[]\n{}\n"}) {
    put(line("a") + other);
    EXPECT_ERROR(ResultFile::open(*files_, kPath), kCorrupt, "line 2");
    EXPECT_EQ(text(), line("a") + other);
  }
}

}  // namespace
}  // namespace kvern::server
