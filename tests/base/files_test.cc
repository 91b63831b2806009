// The contract of Files, on the operating system's files and on those in memory; and what is built upon it.
#include "base/files.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "support/result_matchers.h"
#include "support/temporary_directory.h"

namespace kvern {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Implementation {
  const char* name;
  std::unique_ptr<Files> (*make)();
};

class FilesContract : public testing::TestWithParam<Implementation> {
 protected:
  void write(const std::string& name, std::string_view content) {
    ASSERT_OK_AND_ASSIGN(const auto file, files_->open(path(name), OpenMode::kCreate));
    ASSERT_OK(file->write_at(0, bytes_of(content)));
    ASSERT_OK(file->sync());
  }
  std::string path(const std::string& name) const { return directory_.file(name); }
  std::string content(const std::string& name) {
    return read_file(*files_, path(name), 1000).value_or("<none>");
  }

  void SetUp() override { ASSERT_OK(files_->make_directory(directory_.path())); }

  test::TemporaryDirectory directory_;
  std::unique_ptr<Files> files_ = GetParam().make();
};

TEST_P(FilesContract, what_is_written_is_read_back) {
  write("a", "hello world");
  ASSERT_OK_AND_ASSIGN(const auto file, files_->open(path("a"), OpenMode::kRead));
  ASSERT_OK_AND_ASSIGN(const uint64_t size, file->size());
  EXPECT_EQ(size, 11u);
  std::string part(5, '\0');
  ASSERT_OK(file->read_at(6, std::as_writable_bytes(std::span(part))));
  EXPECT_EQ(part, "world");
}

TEST_P(FilesContract, a_read_past_the_end_says_how_much_there_was) {
  write("a", "hello");
  ASSERT_OK_AND_ASSIGN(const auto file, files_->open(path("a"), OpenMode::kRead));
  std::string part(9, '\0');
  EXPECT_ERROR(file->read_at(2, std::as_writable_bytes(std::span(part))), kCorrupt,
               path("a") + ": the file ends after 3 of 9 bytes wanted at offset 2");
  EXPECT_ERROR(file->read_at(100, std::as_writable_bytes(std::span(part))), kCorrupt, "after 0 of 9");
}

TEST_P(FilesContract, a_read_of_nothing_succeeds_anywhere) {
  write("a", "hello");
  ASSERT_OK_AND_ASSIGN(const auto file, files_->open(path("a"), OpenMode::kRead));
  EXPECT_OK(file->read_at(1000, {}));
}

TEST_P(FilesContract, create_empties_and_update_keeps) {
  write("a", "hello");
  {
    ASSERT_OK_AND_ASSIGN(const auto file, files_->open(path("a"), OpenMode::kUpdate));
    ASSERT_OK(file->write_at(1, bytes_of("u")));
  }
  EXPECT_EQ(content("a"), "hullo");
  {
    ASSERT_OK_AND_ASSIGN(const auto file, files_->open(path("a"), OpenMode::kCreate));
  }
  EXPECT_EQ(content("a"), "");
}

TEST_P(FilesContract, a_write_beyond_the_end_fills_with_zeros) {
  write("a", "x");
  {
    ASSERT_OK_AND_ASSIGN(const auto file, files_->open(path("a"), OpenMode::kUpdate));
    ASSERT_OK(file->write_at(3, bytes_of("y")));
  }
  EXPECT_EQ(content("a"), std::string("x\0\0y", 4));
}

TEST_P(FilesContract, a_file_open_for_reading_is_not_written) {
  write("a", "x");
  ASSERT_OK_AND_ASSIGN(const auto file, files_->open(path("a"), OpenMode::kRead));
  EXPECT_ERROR(file->write_at(0, bytes_of("y")), kIo, "cannot write");
  EXPECT_EQ(content("a"), "x");
}

TEST_P(FilesContract, offsets_that_overflow_are_errors) {
  write("a", "x");
  ASSERT_OK_AND_ASSIGN(const auto file, files_->open(path("a"), OpenMode::kUpdate));
  EXPECT_ERROR(file->write_at(UINT64_MAX, bytes_of("y")), kInvalidArgument, "beyond any file");
  EXPECT_ERROR(file->write_at(uint64_t{1} << 63, bytes_of("y")), kInvalidArgument, "beyond any file");
}

TEST_P(FilesContract, a_missing_file_is_not_found) {
  EXPECT_ERROR(files_->open(path("none"), OpenMode::kRead), kNotFound,
               path("none") + ": cannot open: No such file or directory");
  EXPECT_ERROR(files_->open(path("none"), OpenMode::kUpdate), kNotFound, "No such file");
  EXPECT_ERROR(files_->map(path("none")), kNotFound, "No such file");
  EXPECT_ERROR(files_->kind(path("none")), kNotFound, "No such file");
  EXPECT_ERROR(files_->list(path("none")), kNotFound, "No such file");
  EXPECT_ERROR(files_->remove(path("none")), kNotFound, "No such file");
  EXPECT_ERROR(files_->rename(path("none"), path("b")), kNotFound, "No such file");
  EXPECT_FALSE(files_->exists(path("none")));
}

TEST_P(FilesContract, a_directory_is_not_taken_for_a_file) {
  ASSERT_OK(files_->make_directory(path("d")));
  constexpr std::string_view kMessage = "is a directory, not a file";
  EXPECT_ERROR(files_->open(path("d"), OpenMode::kRead), kInvalidArgument, kMessage);
  EXPECT_ERROR(files_->open(path("d"), OpenMode::kCreate), kInvalidArgument, kMessage);
  EXPECT_ERROR(files_->open(path("d"), OpenMode::kUpdate), kInvalidArgument, kMessage);
  EXPECT_ERROR(files_->map(path("d")), kInvalidArgument, kMessage);
  EXPECT_ERROR(write_file_atomically(*files_, path("d"), bytes_of("x")), kInvalidArgument, kMessage);
  EXPECT_ERROR(read_file(*files_, path("d"), 10), kInvalidArgument, kMessage);
}

TEST_P(FilesContract, a_mapping_shows_the_whole_file) {
  write("a", "hello");
  ASSERT_OK_AND_ASSIGN(const auto mapped, files_->map(path("a")));
  EXPECT_EQ(text_of(mapped->bytes()), "hello");
  EXPECT_OK(mapped->check_unchanged());
}

TEST_P(FilesContract, an_empty_file_maps_to_an_empty_view) {
  write("a", "");
  ASSERT_OK_AND_ASSIGN(const auto mapped, files_->map(path("a")));
  EXPECT_TRUE(mapped->bytes().empty());
  EXPECT_OK(mapped->check_unchanged());
}

TEST_P(FilesContract, a_file_that_shrinks_under_its_mapping_is_noticed) {
  write("a", "hello");
  ASSERT_OK_AND_ASSIGN(const auto mapped, files_->map(path("a")));
  write("a", "he");
  EXPECT_ERROR(mapped->check_unchanged(), kCorrupt, "it had 5 bytes and has 2");
}

TEST_P(FilesContract, a_file_that_is_written_to_under_its_mapping_is_noticed) {
  write("a", "hello");
  // File systems tell times of writing apart by milliseconds.
  if (files_->is_system()) last_write_time(std::filesystem::path(path("a")), {});
  ASSERT_OK_AND_ASSIGN(const auto mapped, files_->map(path("a")));
  {
    ASSERT_OK_AND_ASSIGN(const auto file, files_->open(path("a"), OpenMode::kUpdate));
    EXPECT_OK(mapped->check_unchanged());
    ASSERT_OK(file->write_at(1, std::as_bytes(std::span("a", 1))));
  }
  EXPECT_ERROR(mapped->check_unchanged(), kCorrupt, "it was written to");
}

TEST_P(FilesContract, a_mapping_knows_its_file_from_another_of_its_name) {
  write("a", "hello");
  ASSERT_OK_AND_ASSIGN(const auto mapped, files_->map(path("a")));
  write("b", "other");
  ASSERT_OK(files_->rename(path("b"), path("a")));
  EXPECT_EQ(text_of(mapped->bytes()), "hello");
  EXPECT_OK(mapped->check_unchanged());
}

TEST_P(FilesContract, a_mapping_outlives_the_removal_of_its_file) {
  write("a", "hello");
  ASSERT_OK_AND_ASSIGN(const auto mapped, files_->map(path("a")));
  ASSERT_OK(files_->remove(path("a")));
  EXPECT_EQ(text_of(mapped->bytes()), "hello");
  EXPECT_OK(mapped->check_unchanged());
}

TEST_P(FilesContract, a_list_is_sorted_and_tells_directories_from_files) {
  write("b", "");
  write("a", "");
  ASSERT_OK(files_->make_directory(path("c")));
  write("c/inside", "");
  ASSERT_OK_AND_ASSIGN(const auto entries, files_->list(directory_.path()));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_FALSE(entries[0].is_directory);
  EXPECT_EQ(entries[1].name, "b");
  EXPECT_EQ(entries[2].name, "c");
  EXPECT_TRUE(entries[2].is_directory);
}

TEST_P(FilesContract, rename_replaces_in_one_step) {
  write("a", "new");
  write("b", "old");
  ASSERT_OK(files_->rename(path("a"), path("b")));
  EXPECT_EQ(content("b"), "new");
  EXPECT_FALSE(files_->exists(path("a")));
}

TEST_P(FilesContract, rename_to_itself_keeps_the_file) {
  write("a", "x");
  ASSERT_OK(files_->rename(path("a"), path("a")));
  EXPECT_EQ(content("a"), "x");
}

TEST_P(FilesContract, rename_onto_a_directory_is_refused) {
  write("a", "x");
  ASSERT_OK(files_->make_directory(path("d")));
  EXPECT_ERROR(files_->rename(path("a"), path("d")), kInvalidArgument, "directory");
  EXPECT_EQ(content("a"), "x");
}

TEST_P(FilesContract, only_an_empty_directory_is_removed) {
  ASSERT_OK(files_->make_directory(path("d")));
  write("d/a", "x");
  EXPECT_ERROR(files_->remove(path("d")), kInvalidArgument, "not empty");
  ASSERT_OK(files_->remove(path("d/a")));
  EXPECT_OK(files_->remove(path("d")));
  EXPECT_FALSE(files_->exists(path("d")));
}

TEST_P(FilesContract, a_directory_is_made_twice_but_not_over_a_file) {
  ASSERT_OK(files_->make_directory(path("d")));
  EXPECT_OK(files_->make_directory(path("d")));
  write("a", "x");
  EXPECT_ERROR(files_->make_directory(path("a")), kInvalidArgument, "a file has that name");
}

TEST_P(FilesContract, kinds_are_told_apart) {
  write("a", "x");
  ASSERT_OK(files_->make_directory(path("d")));
  EXPECT_EQ(files_->kind(path("a")).value(), FileKind::kRegular);
  EXPECT_EQ(files_->kind(path("d")).value(), FileKind::kDirectory);
  EXPECT_TRUE(files_->is_directory(path("d")).value());
  EXPECT_FALSE(files_->is_directory(path("a")).value());
  EXPECT_TRUE(files_->exists(path("a")));
}

TEST_P(FilesContract, a_directory_can_be_synced_and_a_missing_one_not) {
  EXPECT_OK(files_->sync_directory(directory_.path()));
  EXPECT_ERROR(files_->sync_directory(path("none")), kNotFound, "No such file");
}

TEST_P(FilesContract, a_whole_file_is_read_up_to_a_limit) {
  write("a", "hello");
  EXPECT_EQ(read_file(*files_, path("a"), 5).value(), "hello");
  EXPECT_ERROR(read_file(*files_, path("a"), 4), kExhausted, path("a") + ": 5 bytes; at most 4 are read");
}

TEST_P(FilesContract, an_atomic_write_leaves_the_file_and_nothing_else) {
  write("a", "old and long");
  ASSERT_OK(write_file_atomically(*files_, path("a"), bytes_of("new")));
  EXPECT_EQ(content("a"), "new");
  EXPECT_EQ(files_->list(directory_.path()).value().size(), 1u);
}

TEST_P(FilesContract, locks_are_shared_or_exclusive) {
  ASSERT_OK_AND_ASSIGN(auto first, files_->lock(path("lock"), LockKind::kShared));
  ASSERT_OK_AND_ASSIGN(auto second, files_->lock(path("lock"), LockKind::kShared));
  std::atomic<int> held = 0;
  std::thread writer([&] {
    const auto exclusive = files_->lock(path("lock"), LockKind::kExclusive);
    EXPECT_TRUE(exclusive.has_value());
    EXPECT_EQ(held.fetch_add(1), 2);
  });
  held = 1;
  first.reset();
  held = 2;  // the second still stands in the way
  second.reset();
  writer.join();
  EXPECT_EQ(held, 3);
  EXPECT_OK(files_->lock(path("lock"), LockKind::kExclusive));
  EXPECT_TRUE(files_->exists(path("lock")));
  {
    ASSERT_OK_AND_ASSIGN(const auto alone, files_->try_lock(path("lock"), LockKind::kExclusive));
    ASSERT_NE(alone, nullptr);
    ASSERT_OK_AND_ASSIGN(const auto other, files_->try_lock(path("lock"), LockKind::kShared));
    EXPECT_EQ(other, nullptr);
  }
  ASSERT_OK_AND_ASSIGN(const auto shared, files_->try_lock(path("lock"), LockKind::kShared));
  EXPECT_NE(shared, nullptr);
  EXPECT_OK(files_->lock(path("other"), LockKind::kExclusive));
}

INSTANTIATE_TEST_SUITE_P(Files, FilesContract,
                         testing::Values(Implementation{"posix", make_posix_files},
                                         Implementation{"memory", make_memory_files}),
                         [](const auto& instance) { return instance.param.name; });

TEST(ParentDirectory, is_what_holds_the_entry) {
  EXPECT_EQ(parent_directory("a/b/c"), "a/b");
  EXPECT_EQ(parent_directory("a/b/"), "a");
  EXPECT_EQ(parent_directory("a//b"), "a");
  EXPECT_EQ(parent_directory("a"), ".");
  EXPECT_EQ(parent_directory("a/"), ".");
  EXPECT_EQ(parent_directory("/a"), "/");
  EXPECT_EQ(parent_directory("//a"), "/");
  EXPECT_EQ(parent_directory("/"), "/");
  EXPECT_EQ(parent_directory(""), ".");
}

}  // namespace
}  // namespace kvern
