// Result<T>: the value of an operation, or why there is none.
//
// Everything that a file, a request, a disk or a peer can cause is a Result. A broken invariant of our own is
// a KVERN_CHECK (base/check.h) instead.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace kvern {

/// What kind of failure this is: what a caller can decide on without reading the message.
enum class ErrorCode : uint8_t {
  kInvalidArgument,  ///< The caller's or user's input is wrong; the same call fails again.
  kNotFound,         ///< A named file, tensor, key or row does not exist.
  kCorrupt,          ///< Data contradicts its own format or checksum.
  kUnsupported,  ///< Well formed, but this build or machine cannot do it; the message names what can be done.
  kExhausted,    ///< Out of memory, pool, disk or context; may work later or with less.
  kIo,           ///< The operating system refused a read, write or mapping.
  kCancelled,    ///< Stopped on request.
  kInternal,     ///< A fault of kvern itself.
};

/// "invalid argument", "not found", ...
std::string_view to_string(ErrorCode code);

/// An error that a user can act on: what, where, and (in the message) what to do.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  /// File, tensor, key or row that the message is about; empty when the message says it.
  std::string where;
  /// True when the same call may succeed later without any change by the caller.
  bool retryable = false;

  /// One line: "where: message".
  std::string to_string() const;
};

template <typename T>
using Result = std::expected<T, Error>;

/// The value of an operation that only succeeds or fails.
struct [[nodiscard]] Ok {};
using Status = Result<Ok>;

/// Shorthand for returning an error: `return fail(ErrorCode::kCorrupt, "…", path)`.
inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::string where = {}) {
  return std::unexpected<Error>(
      Error{.code = code, .message = std::move(message), .where = std::move(where)});
}

}  // namespace kvern
