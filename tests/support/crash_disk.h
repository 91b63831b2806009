// What a disk may hold after a power cut: every system call of a workload is recorded, and any beginning of
// the record is turned into the states that the calls allow.
//
// Allowed is what POSIX allows: of writes since the last sync of a file, any of their 512-byte sectors may be
// there or not; of names made, changed or removed since the last sync of their directory, any may be as
// before. What was synced is there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/mutex.h"

namespace kvern::test {

/// A system call that changes something.
struct RecordedCall {
  enum class Kind : uint8_t {
    kMakeDirectory,
    kCreate,
    kWrite,
    kTruncate,
    kSync,
    kRename,
    kRemove,
    kSyncDirectory
  };
  Kind kind{};
  std::string path;
  std::string to;   // of a rename
  size_t node = 0;  // the file that kCreate, kWrite, kTruncate and kSync are about
  uint64_t offset = 0;
  std::vector<std::byte> data;
};

/// Files in memory that record. Thread-safe.
class RecordingFiles : public Files {
 public:
  RecordingFiles();

  /// The record so far, which only grows.
  size_t calls();
  std::vector<RecordedCall> record();

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Result<std::unique_ptr<MappedFile>> map(const std::string& path) override { return inner_->map(path); }
  Result<FileKind> kind(const std::string& path) override { return inner_->kind(path); }
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override { return inner_->list(path); }
  Status make_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path, LockKind kind) override;
  Result<std::unique_ptr<FileLock>> try_lock(const std::string& path, LockKind kind) override;

 private:
  friend class RecordingFile;
  void add(RecordedCall call);

  std::unique_ptr<Files> inner_;
  Mutex mutex_;
  std::vector<RecordedCall> record_ KVERN_GUARDED_BY(mutex_);
  std::map<std::string, size_t> nodes_ KVERN_GUARDED_BY(mutex_);
  size_t next_node_ KVERN_GUARDED_BY(mutex_) = 0;
};

/// How a power cut treats what was not synced.
struct CrashChoice {
  enum class What : uint8_t { kNothing, kAll, kAny };  ///< of it is there
  What data = What::kNothing;
  What names = What::kNothing;
  uint64_t seed = 0;  ///< for kAny
};

/// Follows a record and gives the states that a power cut can leave after any call of it.
class CrashDisk {
 public:
  /// `record` is borrowed.
  explicit CrashDisk(const std::vector<RecordedCall>& record) : record_(record) {}

  size_t done() const { return done_; }
  /// Takes the next call.
  void advance();
  /// Files as they may be now.
  std::unique_ptr<Files> image(const CrashChoice& choice) const;

 private:
  using Bytes = std::vector<std::byte>;
  struct Node {
    Bytes durable;
    std::vector<const RecordedCall*> pending;  // writes and truncations since the last sync
  };
  struct NameChange {
    std::string removes;  // empty: nothing
    std::string adds;     // empty: nothing
    size_t node = 0;
  };
  struct Directory {
    std::map<std::string, size_t> durable;  // path -> node, kFolder for directories
    std::map<std::string, size_t> names;    // as the program sees them
    std::vector<NameChange> pending;
  };
  static constexpr size_t kFolder = SIZE_MAX;

  void change_name(const std::string& removes, const std::string& adds, size_t node);
  Bytes content(const Node& node, CrashChoice::What what, uint64_t& random) const;
  std::map<std::string, size_t> names(const Directory& directory, CrashChoice::What what,
                                      uint64_t& random) const;

  const std::vector<RecordedCall>& record_;
  size_t done_ = 0;
  std::map<size_t, Node> nodes_;
  std::map<std::string, Directory> directories_;
};

}  // namespace kvern::test
