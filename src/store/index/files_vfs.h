// SQLite's file system on top of Files, so that tests can put the index on files in memory, on files that
// fail, and on files that are recorded (sqlite.org/vfs.html).
//
// Locks and the shared memory of the write-ahead log are kept in this process: two processes must not open
// one database through it. On the operating system's files SQLite's own is used, which does the same reads,
// writes and syncs in the same order.
#pragma once

#include <memory>
#include <string>

#include "base/files.h"

namespace kvern::store {

/// Registered with SQLite while it lives, and outlives every database that is opened through it. Thread-safe.
class FilesVfs {
 public:
  /// `files` is borrowed.
  explicit FilesVfs(Files& files);
  ~FilesVfs();
  FilesVfs(const FilesVfs&) = delete;
  FilesVfs& operator=(const FilesVfs&) = delete;

  /// For sqlite3_open_v2.
  const char* name() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvern::store
