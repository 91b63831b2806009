// A file that appears whole or not at all. What a power cut leaves is tested with write_file_atomically,
// which is made of it (faulty_files_test.cc).
#include "base/atomic_file.h"

#include <string_view>

#include <gtest/gtest.h>

#include "base/faulty_files.h"
#include "base/memory_files.h"
#include "support/result_matchers.h"

namespace kvern {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(AtomicFile, IsThereAfterCommitOnly) {
  const auto files = make_memory_files();
  ASSERT_OK(write_file_atomically(*files, "a", bytes_of("old")));
  {
    ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::create(*files, "a"));
    ASSERT_OK(file.append(bytes_of("new ")));
    ASSERT_OK(file.append(bytes_of("content")));
    EXPECT_EQ(file.size(), 11U);
    EXPECT_EQ(*read_file(*files, "a", 100), "old");
    ASSERT_OK(file.commit());
  }
  EXPECT_EQ(*read_file(*files, "a", 100), "new content");
  EXPECT_EQ(files->list(".")->size(), 1U);
}

TEST(AtomicFile, LeavesNothingWhenItIsGivenUp) {
  const auto files = make_memory_files();
  {
    ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::create(*files, "a"));
    ASSERT_OK(file.append(bytes_of("half")));
    const AtomicFile moved = std::move(file);
    EXPECT_EQ(files->list(".")->size(), 1U);
  }
  EXPECT_TRUE(files->list(".")->empty());
}

TEST(AtomicFile, NamesThePathThatWasAskedFor) {
  const auto inner = make_memory_files();
  FaultyFiles files(*inner);
  files.set_plan({.disk_bytes = 3});
  ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::create(files, "a"));
  const auto status = file.append(bytes_of("too much"));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().where, "a");
  ASSERT_OK(inner->make_directory("d"));
  EXPECT_ERROR(AtomicFile::create(*inner, "d"), kInvalidArgument, "directory");
}

}  // namespace
}  // namespace kvern
