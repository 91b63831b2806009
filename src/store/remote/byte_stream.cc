#include "store/remote/byte_stream.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>

#include "store/remote/socket.h"
#include "store/remote/tls_stream.h"

namespace kvern::store {
namespace {

class PlainStream final : public ByteStream {
 public:
  PlainStream(Descriptor socket, std::string where) : socket_(std::move(socket)), where_(std::move(where)) {}

  Status send(std::span<const std::byte> bytes, Deadline deadline) override {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes = bytes.subspan(static_cast<size_t>(sent));
        continue;
      }
      KVERN_TRY_STATUS(after_error("cannot send to the server", Readiness::kWrite, deadline));
    }
    return Ok{};
  }

  Result<size_t> receive(std::span<std::byte> out, Deadline deadline) override {
    while (true) {
      const ssize_t got = ::recv(socket_.get(), out.data(), out.size(), 0);
      if (got > 0) return static_cast<size_t>(got);
      if (got == 0) return connection_error("the server closed the connection", where_);
      KVERN_TRY_STATUS(after_error("cannot receive from the server", Readiness::kRead, deadline));
    }
  }

 private:
  // Of a call that failed: waits where that helps.
  Status after_error(const char* what, Readiness readiness, Deadline deadline) const {
    if (errno == EINTR) return Ok{};
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      return connection_error(std::string(what) + ": " + std::strerror(errno), where_);
    return wait_until_ready(socket_, readiness, deadline, where_);
  }

  Descriptor socket_;
  std::string where_;
};

}  // namespace

Result<std::unique_ptr<ByteStream>> connect_stream(const RedisUrl& url, const TlsTrust& trust,
                                                   Deadline deadline) {
  const std::string where = url.to_string();
  KVERN_TRY(Descriptor socket, connect_socket(url, deadline, where));
  if (url.tls) return open_tls_stream(std::move(socket), url, trust, deadline);
  return std::make_unique<PlainStream>(std::move(socket), where);
}

}  // namespace kvern::store
