// A folder of files that are called by their content: made whole under another name, then renamed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "store/block/aligned_buffer.h"
#include "store/block/name.h"
#include "store/io/block_io.h"

namespace kvern::store {

/// What lies in the folder.
struct FolderContents {
  std::vector<ContentName> names;
  std::vector<std::string> unfinished;  ///< of writers that were interrupted, or are at work
  int64_t strangers = 0;                ///< files that nobody here made
};

/// Thread-safe; several processes may use one folder. `files` and `io` are borrowed.
class ContentFiles {
 public:
  /// `folder` is a path; `quarantine` one on the same file system.
  ContentFiles(Files& files, BlockIo& io, std::string folder, std::string quarantine);

  /// Makes the folder durably, if it is not there.
  Status prepare();
  const std::string& folder() const { return folder_; }
  /// Makes a file; its content is durable, its name after sync().
  Status add(const ContentName& name, std::span<const std::byte> bytes);
  Status sync() { return files_.sync_directory(folder_); }
  /// All of a file that has at most `limit` bytes.
  Result<AlignedBuffer> read(const ContentName& name, uint64_t limit) const;
  /// The first bytes of a file, at most so many, and how many it has.
  struct Beginning {
    AlignedBuffer bytes;
    uint64_t file_bytes = 0;
  };
  Result<Beginning> read_beginning(const ContentName& name, uint64_t bytes) const;
  /// Whether there is a file of this size, and, with bytes, of this content.
  bool holds(const ContentName& name, std::span<const std::byte> bytes) const;
  bool exists(const ContentName& name) const { return files_.exists(path(name)); }
  /// A file that is not there is fine.
  Status remove(const ContentName& name);
  Status remove_unfinished(const std::string& file);
  /// Moves a damaged file out of the way, where people can look at it.
  Status quarantine(const ContentName& name);
  Result<FolderContents> list() const;

  std::string path(const ContentName& name) const { return folder_ + "/" + name.to_string(); }

 private:
  Files& files_;
  BlockIo& io_;
  std::string folder_;
  std::string quarantine_;
};

/// make_directory for a path whose parent exists, with its name made durable when it is new.
Status make_durable_directory(Files& files, const std::string& path);

}  // namespace kvern::store
