// Results of a batch, a line each, in the order in which they come; whatever ends the program, what is in the
// file stays and counts the next time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/files.h"
#include "base/json.h"
#include "base/result.h"

namespace kvern::server {

/// One thread. The file is locked as long as this lives.
class ResultFile {
 public:
  /// Makes the file, or reads which results it has. A last line that is the beginning of a
  /// result is removed. Errors: another line that is no result (kCorrupt names it), so that no other file is
  /// written to; another program that has the file open here (kInvalidArgument).
  static Result<ResultFile> open(Files& files, const std::string& path);

  bool has(std::string_view custom_id) const { return ids_.contains(std::string(custom_id)); }
  size_t size() const { return ids_.size(); }
  /// Whether open() removed a line.
  bool repaired() const { return repaired_; }

  /// Adds a line, in one write. After an error nothing may be added any more.
  Status append(std::string_view custom_id, const json::object& result);
  /// Returns when all lines are durable.
  Status sync();
  /// Lines were added since the last sync().
  bool unsynced() const { return unsynced_; }

 private:
  ResultFile() = default;
  Status lock(Files& files, const std::string& path);
  Status read(Files& files, const std::string& path);

  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<File> file_;
  uint64_t end_ = 0;
  std::unordered_set<std::string> ids_;
  bool repaired_ = false;
  bool unsynced_ = false;
};

}  // namespace kvern::server
