#include "cli/environment.h"

#include <cstdio>
#include <string>

namespace kvern::cli {

namespace {

// Messages quote input. One line of bounded length reaches the terminal, and no control character of a file
// does.
constexpr size_t kLongestMessage = 1000;

std::string one_line(std::string text) {
  if (text.size() > kLongestMessage) {
    size_t end = kLongestMessage;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
      --end;  // not inside a character
    text.resize(end);
    text += " ...";
  }
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return text;
}

}  // namespace

ExitCode report(const Error& error) {
  std::fprintf(stderr, "kvern: %s\n", one_line(error.to_string()).c_str());
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kCorrupt:
    case ErrorCode::kUnsupported:
      return ExitCode::kBadInput;
    case ErrorCode::kCancelled:
      return ExitCode::kInterrupted;
    case ErrorCode::kExhausted:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      break;
  }
  return ExitCode::kFailed;
}

}  // namespace kvern::cli
