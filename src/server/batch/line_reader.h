// Lines of a file that may be larger than memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace kvern::server {

/// One thread.
class LineReader {
 public:
  /// Reads as far as the file goes now. A byte order mark at its beginning is left out.
  static Result<LineReader> open(Files& files, const std::string& path, size_t max_line_bytes);

  struct Line {
    int64_t number = 0;   ///< from 1
    uint64_t offset = 0;  ///< of its first byte
    std::string text;     ///< without "\n" and "\r\n"; empty when it is too long
    bool ended = true;    ///< false: the file ends without a line end
    bool too_long = false;
  };
  /// Nothing at the end of the file.
  Result<std::optional<Line>> next();

 private:
  LineReader(std::unique_ptr<File> file, uint64_t size, size_t max_line_bytes);
  Status fill();

  std::unique_ptr<File> file_;
  uint64_t size_;
  size_t max_line_bytes_;
  std::string block_;  // read from the file, from `at_` on not given out
  size_t at_ = 0;
  uint64_t block_end_ = 0;  // where the block ends in the file
  int64_t number_ = 0;
};

}  // namespace kvern::server
