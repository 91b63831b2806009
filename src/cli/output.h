// Writing results: stdout for what was asked for, stderr for what a person at a terminal wants to see
// meanwhile.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/json.h"
#include "base/result.h"

namespace kvern::cli {

/// Writes to stdout and flushes; an error (disk full, closed pipe) is an Error, not a lost byte.
Status write_stdout(std::string_view text);
/// One line of compact JSON on stdout.
Status write_json(const json::value& value);

/// A line on stderr that is rewritten in place; silent when stderr is not a terminal. Erased by the
/// destructor.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(std::string_view text);
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
};

/// Messages for people. Where they cannot be written, the work goes on: its result is elsewhere.
void write_stderr(std::string_view text);

/// Whether people watch stderr / stdout.
bool stderr_is_terminal();
bool stdout_is_terminal();

/// The bytes of a .npy file, format 1.0 (numpy.lib.format), dtype '<f4', C order, [rows, cols].
std::string npy_header_f32(int64_t rows, int64_t cols);

/// "1.23 GiB", "512 B".
std::string human_bytes(uint64_t bytes);

}  // namespace kvern::cli
