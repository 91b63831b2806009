// Files that fail on purpose: to test what a program does when a disk is full, a write is torn, or the power
// goes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/mutex.h"

namespace kvern {

enum class FaultKind : uint8_t {
  kFail,     ///< The operation does nothing and fails (kIo).
  kTear,     ///< A write puts only its first half, then fails. Other operations fail.
  kShorten,  ///< A read or mapping sees a file that ends in the middle of it. Other operations fail.
};

/// What goes wrong, and when.
struct FaultPlan {
  static constexpr uint64_t kNever = UINT64_MAX;

  /// The number of the operation that fails, counted from 0 since the plan was set.
  uint64_t at = kNever;
  FaultKind kind = FaultKind::kFail;
  /// All operations after it fail too, as after a power cut.
  bool stays_down = false;
  /// Bytes that writes may put before the disk is full (kExhausted). The part of a write that fits is
  /// written. Space is never given back.
  uint64_t disk_bytes = kNever;
};

/// Passes everything on to other files, except what the plan says. Also knows what has not been made durable,
/// and can lose it. Thread-safe. Files are known by the spelling of their path: use one for each.
///
/// Counted operations: open, map, kind, list, make_directory, rename, remove, sync_directory, lock, and
/// size, read_at, write_at and sync of an open file.
class FaultyFiles : public Files {
 public:
  /// `inner` is borrowed and must outlive this object and the files that it opens.
  explicit FaultyFiles(Files& inner) : inner_(inner) {}

  /// Replaces the plan and counts from 0 again.
  void set_plan(const FaultPlan& plan);
  /// Operations since the plan was set.
  uint64_t operations() const;

  /// What a power cut may do at worst, and then power comes back: files have the content of their last sync
  /// (none: they are empty), names are those of the last sync_directory. Directories themselves stay. Clears
  /// the plan. Files that are still open must not be used any more.
  Status lose_unsynced();

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Result<std::unique_ptr<MappedFile>> map(const std::string& path) override;
  Result<FileKind> kind(const std::string& path) override;
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override;
  Status make_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path, LockKind kind) override;
  Result<std::unique_ptr<FileLock>> try_lock(const std::string& path, LockKind kind) override;

 private:
  friend class FaultyFile;

  /// A file apart from its names.
  struct Node {
    std::string durable_content;
  };
  using Names = std::map<std::string, std::shared_ptr<Node>>;

  /// Counts an operation; the fault that hits it, if any. kTear and kShorten are returned only where
  /// `applicable`.
  std::optional<FaultKind> next_fault(FaultKind applicable);
  /// next_fault as an error, for operations that are done or not.
  Status step(const std::string& path);
  /// How many of `wanted` bytes the disk still takes; they count as written.
  uint64_t take_space(uint64_t wanted);
  /// Learns of a file that was there before: its present content is durable.
  Status learn(const std::string& path);

  Files& inner_;
  mutable Mutex mutex_;
  FaultPlan plan_ KVERN_GUARDED_BY(mutex_);
  uint64_t operations_ KVERN_GUARDED_BY(mutex_) = 0;
  uint64_t written_bytes_ KVERN_GUARDED_BY(mutex_) = 0;
  Names names_ KVERN_GUARDED_BY(mutex_);          // As the running program sees them.
  Names durable_names_ KVERN_GUARDED_BY(mutex_);  // As they would be after a power cut.
};

}  // namespace kvern
