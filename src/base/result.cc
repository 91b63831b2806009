#include "base/result.h"

namespace kvern {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kExhausted:
      return "exhausted";
    case ErrorCode::kIo:
      return "input/output error";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kInternal:
      return "internal error";
  }
  return "unknown";
}

std::string Error::to_string() const { return where.empty() ? message : where + ": " + message; }

}  // namespace kvern
