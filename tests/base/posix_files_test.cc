// What only the operating system's files can show; the common contract is in files_test.cc.
#include <csignal>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "support/result_matchers.h"
#include "support/temporary_directory.h"

namespace kvern {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

class PosixFilesTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return directory_.file(name); }

  test::TemporaryDirectory directory_;
  std::unique_ptr<Files> files_ = make_posix_files();
};

TEST_F(PosixFilesTest, a_pipe_without_a_writer_is_refused_and_does_not_wait) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_ERROR(files_->open(path("pipe"), OpenMode::kRead), kInvalidArgument, "not a regular file");
  EXPECT_ERROR(files_->map(path("pipe")), kInvalidArgument, "not a regular file");
  EXPECT_EQ(files_->kind(path("pipe")).value(), FileKind::kSpecial);
}

TEST_F(PosixFilesTest, a_full_device_is_exhausted_and_stays_a_device) {
  EXPECT_ERROR(write_file_atomically(*files_, "/dev/full", bytes_of("x")), kExhausted,
               "No space left on device");
  EXPECT_EQ(files_->kind("/dev/full").value(), FileKind::kSpecial);
}

TEST_F(PosixFilesTest, a_device_is_written_to_and_stays_a_device) {
  EXPECT_OK(write_file_atomically(*files_, "/dev/null", bytes_of("x")));
  EXPECT_EQ(files_->kind("/dev/null").value(), FileKind::kSpecial);
}

/// Root may read everything; for a scope this process is nobody.
class AsNobody {
 public:
  AsNobody() : was_root_(::geteuid() == 0) {
    if (was_root_ && ::seteuid(65534) != 0) ADD_FAILURE() << "cannot become nobody";
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  ~AsNobody() {
    if (was_root_ && ::seteuid(0) != 0) ADD_FAILURE() << "cannot become root again";
  }

 private:
  bool was_root_;
};

TEST_F(PosixFilesTest, without_permission_the_error_says_so) {
  ASSERT_OK(write_file_atomically(*files_, path("secret"), bytes_of("x")));
  ASSERT_EQ(::chmod(path("secret").c_str(), 0), 0);
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0555), 0);
  {
    const AsNobody nobody;
    EXPECT_ERROR(files_->open(path("secret"), OpenMode::kRead), kIo, "cannot open: Permission denied");
    EXPECT_ERROR(files_->map(path("secret")), kIo, "cannot open: Permission denied");
    EXPECT_ERROR(files_->open(path("secret"), OpenMode::kUpdate), kIo,
                 "cannot open for writing: Permission denied");
    EXPECT_ERROR(write_file_atomically(*files_, path("new"), bytes_of("x")), kIo,
                 "cannot create: Permission denied");
  }
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0700), 0);
}

TEST_F(PosixFilesTest, paths_that_the_system_cannot_express_are_refused) {
  EXPECT_ERROR(files_->open(std::string("a\0b", 3), OpenMode::kRead), kInvalidArgument, "zero byte");
  EXPECT_ERROR(files_->open("", OpenMode::kRead), kInvalidArgument, "empty");
  EXPECT_ERROR(files_->kind(""), kInvalidArgument, "empty");
  EXPECT_ERROR(files_->kind(std::string("a\0b", 3)), kInvalidArgument, "zero byte");
  EXPECT_ERROR(files_->open(std::string(5000, 'x'), OpenMode::kRead), kInvalidArgument, "too long");
}

TEST_F(PosixFilesTest, a_path_through_a_file_is_not_found) {
  ASSERT_OK(write_file_atomically(*files_, path("a"), bytes_of("x")));
  EXPECT_ERROR(files_->open(path("a/b"), OpenMode::kRead), kNotFound, "Not a directory");
}

TEST_F(PosixFilesTest, links_are_followed_and_dangling_ones_listed) {
  ASSERT_OK(files_->make_directory(path("d")));
  std::filesystem::create_directory_symlink("d", path("to_directory"));
  std::filesystem::create_symlink("nowhere", path("to_nothing"));
  ASSERT_OK_AND_ASSIGN(const auto entries, files_->list(directory_.path()));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_TRUE(entries[1].is_directory) << entries[1].name;
  EXPECT_FALSE(entries[2].is_directory) << entries[2].name;
  EXPECT_ERROR(files_->open(path("to_nothing"), OpenMode::kRead), kNotFound, "No such file");
}

TEST_F(PosixFilesTest, an_atomic_write_into_a_missing_directory_names_the_file) {
  EXPECT_ERROR(write_file_atomically(*files_, path("none/a"), bytes_of("x")), kNotFound,
               path("none/a") + ": ");
}

TEST_F(PosixFilesTest, open_files_are_not_inherited) {
  ASSERT_OK_AND_ASSIGN(const auto file, files_->open(path("a"), OpenMode::kCreate));
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path(), ignored) != path("a")) continue;
    const int flags = ::fcntl(std::stoi(entry.path().filename().string()), F_GETFD);
    EXPECT_TRUE(flags & FD_CLOEXEC);
    ++checked;
  }
  EXPECT_EQ(checked, 1);
}

}  // namespace
}  // namespace kvern
