// Bytes to and from a server, with a deadline on everything.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "store/remote/redis_url.h"

namespace kvern::store {

using Deadline = std::chrono::steady_clock::time_point;

/// Whom a TLS connection trusts.
struct TlsTrust {
  std::string authorities_pem;  ///< empty: those of the system
};

/// One thread. After an error it is of no more use. Errors: kIo, retryable; "in time" in the message when the
/// deadline passed.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual Status send(std::span<const std::byte> bytes, Deadline deadline) = 0;
  /// At least one byte; how many.
  virtual Result<size_t> receive(std::span<std::byte> out, Deadline deadline) = 0;
};

/// Looks the name up (that alone is bound by the system's resolver, not by the deadline), connects, and
/// shakes hands where the URL asks for TLS; the certificate must be one for the URL's host.
Result<std::unique_ptr<ByteStream>> connect_stream(const RedisUrl& url, const TlsTrust& trust,
                                                   Deadline deadline);

}  // namespace kvern::store
