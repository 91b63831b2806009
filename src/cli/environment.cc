#include "cli/environment.h"

#include <cstdio>

namespace kvern::cli {

ExitCode report(const Error& error) {
  std::fprintf(stderr, "kvern: %s\n", error.to_string().c_str());
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
