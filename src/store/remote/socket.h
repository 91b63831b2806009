// A connected socket that does not block, and waiting for it.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "store/remote/byte_stream.h"

namespace kvern::store {

/// Closes what it holds.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }

 private:
  int fd_;
};

/// `where` is the server, for messages.
Result<Descriptor> connect_socket(const RedisUrl& url, Deadline deadline, const std::string& where);

/// Until there is something to read (or room to write), at the latest until the deadline, which is an error.
enum class Readiness : short { kRead, kWrite };
Status wait_until_ready(const Descriptor& socket, Readiness what, Deadline deadline,
                        const std::string& where);

/// kIo, retryable.
std::unexpected<Error> connection_error(std::string message, const std::string& where);

}  // namespace kvern::store
