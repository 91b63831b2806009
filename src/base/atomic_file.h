// A file that is written piece by piece and appears whole, or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace kvern {

/// One thread. A temporary neighbour takes the bytes; commit() puts it in place of `path`. Without commit
/// nothing of it stays. Errors name `path`.
class AtomicFile {
 public:
  /// `files` is borrowed. kInvalidArgument when `path` is a directory or no regular file.
  static Result<AtomicFile> create(Files& files, std::string path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status append(std::span<const std::byte> bytes);
  uint64_t size() const { return size_; }
  /// Durable and in place when it returns. Once.
  Status commit();

 private:
  AtomicFile(Files& files, std::string path, std::string temporary, std::unique_ptr<File> file);
  Status at_path(Status status) const;

  Files* files_;
  std::string path_;
  std::string temporary_;  // empty: nothing to remove
  std::unique_ptr<File> file_;
  uint64_t size_ = 0;
};

}  // namespace kvern
