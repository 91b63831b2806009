#include "cli/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

namespace kvern::cli {

Status write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return fail(ErrorCode::kIo, fmt::format("cannot write: {}", std::strerror(errno)), "standard output");
  }
  return Ok{};
}

Status write_json(const json::value& value) { return write_stdout(to_json(value) + "\n"); }

void write_stderr(std::string_view text) {
  [[maybe_unused]] const size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }
bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

ProgressLine::ProgressLine() : terminal_(stderr_is_terminal()) {}
ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(std::string_view text) {
  if (!terminal_) return;
  write_stderr(fmt::format("\r\033[K{}", text));
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  write_stderr("\r\033[K");
  shown_ = false;
}

std::string npy_header_f32(int64_t rows, int64_t cols) {
  // The header with its magic is padded with spaces to a multiple of 64 bytes and ends with a newline.
  constexpr size_t kPreamble = 10;
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, cols);
  const size_t padded = (kPreamble + text.size() + 1 + 63) / 64 * 64;
  text.append(padded - kPreamble - text.size() - 1, ' ');
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

std::string human_bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", value, kUnits[unit]);
}

}  // namespace kvern::cli
