// What is particular to files in memory; the common contract is in files_test.cc.
#include "base/memory_files.h"

#include <string>

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

class MemoryFilesTest : public testing::Test {
 protected:
  void write(const std::string& path, std::string_view content) {
    ASSERT_OK(write_file_atomically(*files_, path, bytes_of(content)));
  }
  std::unique_ptr<Files> files_ = make_memory_files();
};

TEST_F(MemoryFilesTest, a_file_makes_the_directories_above_it) {
  write("a/b/c", "x");
  EXPECT_TRUE(files_->is_directory("a").value());
  EXPECT_TRUE(files_->is_directory("a/b").value());
  EXPECT_EQ(files_->list("a").value().at(0).name, "b");
  EXPECT_TRUE(files_->list("a").value().at(0).is_directory);
}

TEST_F(MemoryFilesTest, a_name_that_begins_alike_is_not_inside) {
  write("ab/x", "1");
  ASSERT_OK(files_->make_directory("a"));
  EXPECT_TRUE(files_->list("a").value().empty());
  EXPECT_OK(files_->remove("a"));
}

TEST_F(MemoryFilesTest, spellings_of_a_path_are_one) {
  write("./a//b", "x");
  EXPECT_EQ(read_file(*files_, "a/c/../b", 10).value(), "x");
  EXPECT_TRUE(files_->is_directory("a/").value());
}

TEST_F(MemoryFilesTest, roots_list_their_own_files_only) {
  write("here", "1");
  write("/there", "2");
  EXPECT_EQ(files_->list(".").value().size(), 1u);
  EXPECT_EQ(files_->list(".").value()[0].name, "here");
  EXPECT_EQ(files_->list("/").value().size(), 1u);
  EXPECT_EQ(files_->list("/").value()[0].name, "there");
}

TEST_F(MemoryFilesTest, a_mapping_keeps_the_bytes_that_it_was_made_of) {
  write("a", "old");
  const auto mapped = files_->map("a").value();
  {
    const auto file = files_->open("a", OpenMode::kUpdate).value();
    ASSERT_OK(file->write_at(0, bytes_of("new")));
  }
  EXPECT_EQ(static_cast<char>(mapped->bytes()[0]), 'o');
  EXPECT_EQ(read_file(*files_, "a", 10).value(), "new");
}

TEST_F(MemoryFilesTest, renaming_a_directory_is_refused_by_name) {
  write("d/a", "x");
  EXPECT_ERROR(files_->rename("d", "e"), kUnsupported, "directories are not renamed");
}

}  // namespace
}  // namespace kvern
