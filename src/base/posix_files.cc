// Files on POSIX systems (IEEE 1003.1): open, pread, pwrite, fsync, mmap, rename.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"

namespace kvern {
namespace {

constexpr mode_t kFileMode = 0666;                // The umask takes away what the user does not want.
constexpr mode_t kDirectoryMode = 0777;           // Likewise.
constexpr size_t kMaxTransfer = size_t{1} << 30;  // Linux moves at most 2 GiB in a call.

ErrorCode code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EISDIR:
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
    case EEXIST:
    case ENOTEMPTY:
      return ErrorCode::kInvalidArgument;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return ErrorCode::kExhausted;
    default:
      return ErrorCode::kIo;
  }
}

std::unexpected<Error> fail_errno(int error, std::string_view action, const std::string& path) {
  const ErrorCode code = code_of(error);
  return std::unexpected(Error{
      .code = code,
      .message =
          fmt::format("cannot {}: {}", action, std::error_code(error, std::generic_category()).message()),
      .where = path,
      .retryable = code == ErrorCode::kExhausted});
}

/// Repeats a system call that a signal interrupted.
template <typename Call>
auto without_interruption(Call call) {
  decltype(call()) result;
  do result = call();
  while (result == -1 && errno == EINTR);
  return result;
}

/// An open descriptor; closed when destroyed.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<struct stat> stat_of(const Descriptor& descriptor, const std::string& path) {
  struct stat info{};
  if (::fstat(descriptor.get(), &info) != 0) return fail_errno(errno, "examine", path);
  return info;
}

Status check_path(const std::string& path) {
  // A path with a zero byte would name another file to the system than to the user.
  if (path.find('\0') != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "the path holds a zero byte", path);
  if (path.empty()) return fail(ErrorCode::kInvalidArgument, "the path is empty");
  return Ok{};
}

Result<Descriptor> open_descriptor(const std::string& path, int flags, std::string_view action) {
  KVERN_TRY_STATUS(check_path(path));
  const int fd = without_interruption([&] { return ::open(path.c_str(), flags | O_CLOEXEC, kFileMode); });
  if (fd < 0) {
    if (errno == EISDIR) return fail(ErrorCode::kInvalidArgument, "is a directory, not a file", path);
    return fail_errno(errno, action, path);
  }
  return Descriptor(fd);
}

/// Opens a regular file for reading. O_NONBLOCK: a pipe without a writer is refused and does not wait.
Result<Descriptor> open_regular(const std::string& path) {
  KVERN_TRY(Descriptor descriptor, open_descriptor(path, O_RDONLY | O_NONBLOCK, "open"));
  KVERN_TRY(const auto info, stat_of(descriptor, path));
  if (S_ISDIR(info.st_mode)) return fail(ErrorCode::kInvalidArgument, "is a directory, not a file", path);
  if (!S_ISREG(info.st_mode))
    return fail(ErrorCode::kInvalidArgument, "is not a regular file (a pipe or a device)", path);
  return descriptor;
}

class PosixFile : public File {
 public:
  PosixFile(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  Result<uint64_t> size() const override {
    KVERN_TRY(const auto info, stat_of(descriptor_, path_));
    return static_cast<uint64_t>(info.st_size);
  }

  Status read_at(uint64_t offset, std::span<std::byte> out) const override {
    size_t done = 0;
    while (done < out.size()) {
      KVERN_TRY(const off_t position, position_of(offset, done));
      const size_t chunk = std::min(out.size() - done, kMaxTransfer);
      const ssize_t got = without_interruption(
          [&] { return ::pread(descriptor_.get(), out.data() + done, chunk, position); });
      if (got < 0) return fail_errno(errno, "read", path_);
      if (got == 0)
        return fail(
            ErrorCode::kCorrupt,
            fmt::format("the file ends after {} of {} bytes wanted at offset {}", done, out.size(), offset),
            path_);
      done += static_cast<size_t>(got);
    }
    return Ok{};
  }

  Status write_at(uint64_t offset, std::span<const std::byte> data) override {
    size_t done = 0;
    while (done < data.size()) {
      KVERN_TRY(const off_t position, position_of(offset, done));
      const size_t chunk = std::min(data.size() - done, kMaxTransfer);
      const ssize_t put = without_interruption(
          [&] { return ::pwrite(descriptor_.get(), data.data() + done, chunk, position); });
      if (put < 0) return fail_errno(errno, "write", path_);
      if (put == 0) return fail(ErrorCode::kIo, "cannot write: the device takes no more", path_);
      done += static_cast<size_t>(put);
    }
    return Ok{};
  }

  Status sync() override {
    // EINVAL: a device that has nothing to make durable.
    if (without_interruption([&] { return ::fsync(descriptor_.get()); }) != 0 && errno != EINVAL)
      return fail_errno(errno, "sync", path_);
    return Ok{};
  }

 private:
  Result<off_t> position_of(uint64_t offset, size_t done) const {
    constexpr auto kLast = static_cast<uint64_t>(std::numeric_limits<off_t>::max());
    if (offset > kLast || done > kLast - offset)
      return fail(ErrorCode::kInvalidArgument, fmt::format("offset {} is beyond any file", offset), path_);
    return static_cast<off_t>(offset + done);
  }

  Descriptor descriptor_;
  std::string path_;
};

class PosixMapping : public MappedFile {
 public:
  /// `written`: when the file was last written to before it was mapped.
  PosixMapping(Descriptor descriptor, std::string path, std::span<std::byte> bytes, const timespec& written)
      : descriptor_(std::move(descriptor)), path_(std::move(path)), bytes_(bytes), written_(written) {}
  PosixMapping(const PosixMapping&) = delete;
  PosixMapping& operator=(const PosixMapping&) = delete;
  ~PosixMapping() override {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
  }

  std::span<const std::byte> bytes() const override { return bytes_; }

  Status check_unchanged() const override {
    KVERN_TRY(const auto info, stat_of(descriptor_, path_));
    if (static_cast<uint64_t>(info.st_size) != bytes_.size()) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("the file changed while in use: it had {} bytes and has {}", bytes_.size(),
                              info.st_size),
                  path_);
    }
    // Not st_ctime: that changes with names, owners and rights, too.
    if (info.st_mtim.tv_sec == written_.tv_sec && info.st_mtim.tv_nsec == written_.tv_nsec) return Ok{};
    return fail(ErrorCode::kCorrupt, "the file changed while in use: it was written to", path_);
  }

 private:
  Descriptor descriptor_;
  std::string path_;
  std::span<std::byte> bytes_;
  timespec written_;
};

/// flock(2): belongs to the open file, so threads of one process are as apart as processes.
class PosixLock : public FileLock {
 public:
  explicit PosixLock(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

 private:
  Descriptor descriptor_;
};

struct DirectoryCloser {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

Result<bool> entry_is_directory(DIR* directory, const dirent& entry, const std::string& path) {
  if (entry.d_type != DT_UNKNOWN && entry.d_type != DT_LNK) return entry.d_type == DT_DIR;
  struct stat info{};
  if (::fstatat(::dirfd(directory), entry.d_name, &info, 0) == 0) return S_ISDIR(info.st_mode);
  // A dangling link, or an entry that went away meanwhile, is not a directory.
  if (errno == ENOENT || errno == ELOOP) return false;
  return fail_errno(errno, "examine", path + "/" + entry.d_name);
}

class PosixFiles : public Files {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    if (mode == OpenMode::kRead) {
      KVERN_TRY(Descriptor descriptor, open_regular(path));
      return std::make_unique<PosixFile>(std::move(descriptor), path);
    }
    const bool create = mode == OpenMode::kCreate;
    KVERN_TRY(Descriptor descriptor, open_descriptor(path, create ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR,
                                                     create ? "create" : "open for writing"));
    return std::make_unique<PosixFile>(std::move(descriptor), path);
  }

  Result<std::unique_ptr<MappedFile>> map(const std::string& path) override {
    KVERN_TRY(Descriptor descriptor, open_regular(path));
    KVERN_TRY(const auto info, stat_of(descriptor, path));
    if constexpr (sizeof(size_t) < sizeof(uint64_t)) {
      if (static_cast<uint64_t>(info.st_size) > std::numeric_limits<size_t>::max())
        return fail(ErrorCode::kUnsupported, "too large to map in a 32-bit process", path);
    }
    const auto size = static_cast<size_t>(info.st_size);
    std::span<std::byte> bytes;
    if (size > 0) {  // The system refuses to map nothing.
      void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor.get(), 0);
      if (address == MAP_FAILED) return fail_errno(errno, "map", path);
      bytes = {static_cast<std::byte*>(address), size};
    }
    return std::make_unique<PosixMapping>(std::move(descriptor), path, bytes, info.st_mtim);
  }

  Result<FileKind> kind(const std::string& path) override {
    KVERN_TRY_STATUS(check_path(path));
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return fail_errno(errno, "examine", path);
    if (S_ISDIR(info.st_mode)) return FileKind::kDirectory;
    return S_ISREG(info.st_mode) ? FileKind::kRegular : FileKind::kSpecial;
  }

  Result<uint64_t> size_of(const std::string& path) override {
    KVERN_TRY_STATUS(check_path(path));
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return fail_errno(errno, "examine", path);
    return static_cast<uint64_t>(info.st_size);
  }

  Result<std::vector<DirectoryEntry>> list(const std::string& path) override {
    const std::unique_ptr<DIR, DirectoryCloser> directory(::opendir(path.c_str()));
    if (!directory) return fail_errno(errno, "list", path);
    std::vector<DirectoryEntry> entries;
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(directory.get());
      if (entry == nullptr) {
        if (errno != 0) return fail_errno(errno, "list", path);
        break;
      }
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      KVERN_TRY(const bool is_directory, entry_is_directory(directory.get(), *entry, path));
      entries.push_back({.name = std::string(name), .is_directory = is_directory});
    }
    std::ranges::sort(entries, {}, &DirectoryEntry::name);
    return entries;
  }

  Status make_directory(const std::string& path) override {
    if (::mkdir(path.c_str(), kDirectoryMode) == 0) return Ok{};
    const int error = errno;
    if (error == EEXIST) {
      if (const auto present = kind(path); present && *present == FileKind::kDirectory) return Ok{};
      return fail(ErrorCode::kInvalidArgument, "cannot make the directory: a file has that name", path);
    }
    return fail_errno(error, "make the directory", path);
  }

  Status rename(const std::string& from, const std::string& to) override {
    if (std::rename(from.c_str(), to.c_str()) != 0) return fail_errno(errno, "rename to " + to, from);
    return Ok{};
  }

  Status remove(const std::string& path) override {
    if (std::remove(path.c_str()) != 0) return fail_errno(errno, "remove", path);
    return Ok{};
  }

  Status sync_directory(const std::string& path) override {
    KVERN_TRY(const Descriptor directory,
              open_descriptor(path, O_RDONLY | O_DIRECTORY, "open the directory"));
    // EINVAL: a file system whose directories have nothing to sync.
    if (without_interruption([&] { return ::fsync(directory.get()); }) != 0 && errno != EINVAL)
      return fail_errno(errno, "sync the directory", path);
    return Ok{};
  }

  Result<std::unique_ptr<FileLock>> lock(const std::string& path, LockKind kind) override {
    KVERN_TRY(Descriptor descriptor, open_descriptor(path, O_RDWR | O_CREAT, "open to lock"));
    const int operation = kind == LockKind::kShared ? LOCK_SH : LOCK_EX;
    if (without_interruption([&] { return ::flock(descriptor.get(), operation); }) != 0)
      return fail_errno(errno, "lock", path);
    return std::make_unique<PosixLock>(std::move(descriptor));
  }

  Result<std::unique_ptr<FileLock>> try_lock(const std::string& path, LockKind kind) override {
    KVERN_TRY(Descriptor descriptor, open_descriptor(path, O_RDWR | O_CREAT, "open to lock"));
    const int operation = (kind == LockKind::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
    if (without_interruption([&] { return ::flock(descriptor.get(), operation); }) == 0)
      return std::make_unique<PosixLock>(std::move(descriptor));
    if (errno == EWOULDBLOCK) return nullptr;
    return fail_errno(errno, "lock", path);
  }

  bool is_system() const override { return true; }
};

}  // namespace

std::unique_ptr<Files> make_posix_files() { return std::make_unique<PosixFiles>(); }

}  // namespace kvern
