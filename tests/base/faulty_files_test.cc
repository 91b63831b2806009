// FaultyFiles does what its plan says; and an atomic write survives every fault that it can make.
#include "base/faulty_files.h"

#include <string>

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "support/result_matchers.h"

namespace kvern {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

class FaultyFilesTest : public testing::Test {
 protected:
  std::string content(const std::string& path) { return read_file(*memory_, path, 1000).value_or("<none>"); }

  std::unique_ptr<Files> memory_ = make_memory_files();
  FaultyFiles files_{*memory_};
};

TEST_F(FaultyFilesTest, without_a_plan_everything_passes) {
  ASSERT_OK(write_file_atomically(files_, "d/a", bytes_of("hello")));
  EXPECT_EQ(content("d/a"), "hello");
  ASSERT_OK_AND_ASSIGN(const auto mapped, files_.map("d/a"));
  EXPECT_EQ(mapped->bytes().size(), 5u);
  EXPECT_EQ(files_.list("d").value().size(), 1u);
  EXPECT_OK(files_.remove("d/a"));
  EXPECT_FALSE(files_.exists("d/a"));
}

TEST_F(FaultyFilesTest, exactly_the_chosen_operation_fails) {
  files_.set_plan({.at = 1});
  ASSERT_OK_AND_ASSIGN(const auto file, files_.open("a", OpenMode::kCreate));
  EXPECT_ERROR(file->write_at(0, bytes_of("x")), kIo, "a: cannot go on: injected fault");
  EXPECT_EQ(content("a"), "");
  EXPECT_OK(file->write_at(0, bytes_of("y")));
  EXPECT_EQ(files_.operations(), 3u);
  EXPECT_EQ(content("a"), "y");
}

TEST_F(FaultyFilesTest, after_a_power_cut_nothing_works) {
  files_.set_plan({.at = 1, .stays_down = true});
  ASSERT_OK_AND_ASSIGN(const auto file, files_.open("a", OpenMode::kCreate));
  EXPECT_ERROR(file->write_at(0, bytes_of("x")), kIo, "injected");
  EXPECT_ERROR(file->sync(), kIo, "injected");
  EXPECT_ERROR(files_.remove("a"), kIo, "injected");
}

TEST_F(FaultyFilesTest, a_torn_write_puts_its_first_half) {
  files_.set_plan({.at = 1, .kind = FaultKind::kTear});
  ASSERT_OK_AND_ASSIGN(const auto file, files_.open("a", OpenMode::kCreate));
  EXPECT_ERROR(file->write_at(0, bytes_of("abcdef")), kIo, "injected");
  EXPECT_EQ(content("a"), "abc");
}

TEST_F(FaultyFilesTest, a_full_disk_takes_what_fits) {
  files_.set_plan({.disk_bytes = 4});
  ASSERT_OK_AND_ASSIGN(const auto file, files_.open("a", OpenMode::kCreate));
  EXPECT_OK(file->write_at(0, bytes_of("abc")));
  EXPECT_ERROR(file->write_at(3, bytes_of("def")), kExhausted, "No space left");
  EXPECT_EQ(content("a"), "abcd");
  EXPECT_ERROR(file->write_at(3, bytes_of("d")), kExhausted, "No space left");
}

TEST_F(FaultyFilesTest, a_shortened_read_ends_in_the_middle) {
  ASSERT_OK(write_file_atomically(files_, "a", bytes_of("abcdef")));
  ASSERT_OK_AND_ASSIGN(const auto file, files_.open("a", OpenMode::kRead));
  files_.set_plan({.at = 0, .kind = FaultKind::kShorten});
  std::string out(6, '-');
  EXPECT_ERROR(file->read_at(0, std::as_writable_bytes(std::span(out))), kCorrupt, "after 3 of 6 bytes");
  EXPECT_EQ(out, "abc---");
  files_.set_plan({.at = 0, .kind = FaultKind::kShorten});
  ASSERT_OK_AND_ASSIGN(const auto mapped, files_.map("a"));
  EXPECT_EQ(mapped->bytes().size(), 3u);
}

TEST_F(FaultyFilesTest, unsynced_bytes_and_names_are_lost) {
  ASSERT_OK_AND_ASSIGN(const auto file, files_.open("d/a", OpenMode::kCreate));
  ASSERT_OK(file->write_at(0, bytes_of("one")));
  ASSERT_OK(file->sync());
  ASSERT_OK(files_.sync_directory("d"));
  ASSERT_OK(file->write_at(0, bytes_of("two")));
  ASSERT_OK(files_.rename("d/a", "d/b"));
  {
    ASSERT_OK_AND_ASSIGN(const auto other, files_.open("d/c", OpenMode::kCreate));
  }
  ASSERT_OK(files_.lose_unsynced());
  EXPECT_EQ(content("d/a"), "one");
  EXPECT_FALSE(memory_->exists("d/b"));
  EXPECT_FALSE(memory_->exists("d/c"));
}

TEST_F(FaultyFilesTest, what_was_there_before_is_durable) {
  ASSERT_OK(write_file_atomically(*memory_, "a", bytes_of("old")));
  {
    ASSERT_OK_AND_ASSIGN(const auto file, files_.open("a", OpenMode::kCreate));
  }
  EXPECT_EQ(content("a"), "");
  ASSERT_OK(files_.lose_unsynced());
  EXPECT_EQ(content("a"), "old");
}

TEST_F(FaultyFilesTest, a_removal_is_undone_unless_its_directory_was_synced) {
  ASSERT_OK(write_file_atomically(files_, "a", bytes_of("old")));
  ASSERT_OK(files_.remove("a"));
  ASSERT_OK(files_.lose_unsynced());
  EXPECT_EQ(content("a"), "old");
  ASSERT_OK(files_.remove("a"));
  ASSERT_OK(files_.sync_directory("."));
  ASSERT_OK(files_.lose_unsynced());
  EXPECT_FALSE(memory_->exists("a"));
}

using Writer = Status (*)(Files&, const std::string&, std::span<const std::byte>);

/// Old and new content of a file, and every fault at every operation of a writer. Afterwards there must be
/// the old or the new content, and the new one if the writer reported success: both when all that was not
/// synced is lost and when the disk happened to keep it. Returns how often that was not so.
int broken_promises(Writer writer) {
  int broken = 0;
  for (const FaultKind kind : {FaultKind::kFail, FaultKind::kTear, FaultKind::kShorten}) {
    for (const bool stays_down : {false, true}) {
      for (uint64_t at = 0; at < 20; ++at) {
        const auto memory = make_memory_files();
        static_cast<void>(write_file_atomically(*memory, "d/a", bytes_of("old content")));
        FaultyFiles files(*memory);
        files.set_plan({.at = at, .kind = kind, .stays_down = stays_down});
        const bool success = writer(files, "d/a", bytes_of("new content")).has_value();
        const auto right = [&] {
          const std::string found = read_file(*memory, "d/a", 1000).value_or("<none>");
          return found == "new content" || (!success && found == "old content");
        };
        if (!right()) ++broken;
        if (!files.lose_unsynced() || !right()) ++broken;
      }
    }
  }
  return broken;
}

TEST(AtomicWrite, leaves_old_or_new_content_after_any_fault) {
  EXPECT_EQ(broken_promises(write_file_atomically), 0);
}

TEST(AtomicWrite, the_check_finds_a_writer_that_overwrites_in_place) {
  EXPECT_GT(
      broken_promises([](Files& files, const std::string& path, std::span<const std::byte> data) -> Status {
        KVERN_TRY(const auto file, files.open(path, OpenMode::kCreate));
        KVERN_TRY_STATUS(file->write_at(0, data));
        return file->sync();
      }),
      0);
}

TEST(AtomicWrite, the_check_finds_a_writer_that_forgets_to_sync) {
  EXPECT_GT(
      broken_promises([](Files& files, const std::string& path, std::span<const std::byte> data) -> Status {
        {
          KVERN_TRY(const auto file, files.open(path + ".tmp", OpenMode::kCreate));
          KVERN_TRY_STATUS(file->write_at(0, data));
        }
        KVERN_TRY_STATUS(files.rename(path + ".tmp", path));
        return files.sync_directory(parent_directory(path));
      }),
      0);
}

TEST(AtomicWrite, a_failed_write_leaves_no_temporary_file_behind) {
  for (uint64_t disk_bytes = 0; disk_bytes < 11; ++disk_bytes) {
    const auto memory = make_memory_files();
    FaultyFiles files(*memory);
    files.set_plan({.disk_bytes = disk_bytes});
    EXPECT_ERROR(write_file_atomically(files, "a", bytes_of("new content")), kExhausted,
                 "a: cannot write: No space");
    EXPECT_TRUE(memory->list(".").value().empty());
  }
}

}  // namespace
}  // namespace kvern
