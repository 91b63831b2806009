// The one seam to the file system. Everything that reads, maps or writes files does it through Files, so that
// tests can put an in-memory or a faulty implementation in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace kvern {

/// A read-only view of a whole file; unmapped when destroyed. Immutable; may be read by any thread.
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  virtual std::span<const std::byte> bytes() const = 0;
  /// Compares the file's size and the time of its last writing with those at mapping: one system call. A file
  /// that shrank under the mapping would fault on access, one that was written to shows other bytes; callers
  /// ask at points where they can still stop with a clear error. A file that was renamed, removed or replaced
  /// by another of its name is unchanged.
  virtual Status check_unchanged() const = 0;
};

/// An open file. One thread at a time; distinct files are independent. Closed when destroyed.
class File {
 public:
  virtual ~File() = default;
  virtual Result<uint64_t> size() const = 0;
  /// Fills `out` from `offset`; fewer bytes than asked (end of file) is an error that says both numbers.
  virtual Status read_at(uint64_t offset, std::span<std::byte> out) const = 0;
  virtual Status write_at(uint64_t offset, std::span<const std::byte> data) = 0;
  /// Returns when the data is durable.
  virtual Status sync() = 0;
};

enum class OpenMode : uint8_t {
  kRead,    ///< Must exist; never written.
  kCreate,  ///< Created, or emptied if it exists; read and write.
  kUpdate,  ///< Must exist; read and write.
};

enum class FileKind : uint8_t {
  kRegular,
  kDirectory,
  kSpecial,  ///< A pipe, a device, a socket.
};

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
};

enum class LockKind : uint8_t { kShared, kExclusive };

/// A lock on a file; given back when destroyed, by any thread.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

/// File system operations. Implementations are thread-safe. Every error names the path in `where`.
class Files {
 public:
  virtual ~Files() = default;
  /// kRead takes regular files only (a pipe has no offsets); the other modes also take devices.
  virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  /// Regular files only; an empty file is an empty view.
  virtual Result<std::unique_ptr<MappedFile>> map(const std::string& path) = 0;
  /// Links are followed.
  virtual Result<FileKind> kind(const std::string& path) = 0;
  /// Bytes of a regular file. On the operating system's files without opening it: closing a file would end
  /// the locks that a library of this process has on it.
  virtual Result<uint64_t> size_of(const std::string& path);
  /// Sorted by name, without "." and "..".
  virtual Result<std::vector<DirectoryEntry>> list(const std::string& path) = 0;
  /// One level; a directory that is there already is fine.
  virtual Status make_directory(const std::string& path) = 0;
  /// Replaces a file `to` in one step.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  /// A file or an empty directory.
  virtual Status remove(const std::string& path) = 0;
  /// Makes renames, creations and removals in a directory durable.
  virtual Status sync_directory(const std::string& path) = 0;
  /// Waits until no other holder of a lock on `path`, in this process or another, stands in the way: shared
  /// ones may be many, an exclusive one is alone. The file is made if there is none. Locks bind only those
  /// who ask for one, and end with their process.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path, LockKind kind) = 0;
  /// As lock(), without waiting: null when another holder stands in the way.
  virtual Result<std::unique_ptr<FileLock>> try_lock(const std::string& path, LockKind kind) = 0;
  /// Whether these are the operating system's files, so that a library with I/O of its own finds the same.
  virtual bool is_system() const { return false; }

  Result<bool> is_directory(const std::string& path);
  /// False also where the path cannot be looked at.
  bool exists(const std::string& path);
};

/// The operating system's files (POSIX).
std::unique_ptr<Files> make_posix_files();

/// "a/b" of "a/b/c", "." of "c", "/" of "/c": the directory to sync after a rename.
std::string parent_directory(const std::string& path);

/// The whole file as bytes; refuses more than `limit_bytes` (kExhausted).
Result<std::string> read_file(Files& files, const std::string& path, uint64_t limit_bytes);
/// Writes to a temporary neighbour, syncs, renames over `path` and syncs the directory: old or new content,
/// never a mix. A device or pipe at `path` is written to directly, since a rename would replace it.
Status write_file_atomically(Files& files, const std::string& path, std::span<const std::byte> data);

}  // namespace kvern
