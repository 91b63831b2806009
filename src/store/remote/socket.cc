#include "store/remote/socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace kvern::store {
namespace {

std::unexpected<Error> system_error(const char* what, int error, const std::string& where) {
  return connection_error(std::string(what) + ": " + std::strerror(error), where);
}

/// An address to connect to.
struct Target {
  int family = 0;
  const sockaddr* address = nullptr;
  socklen_t bytes = 0;
};

Result<Descriptor> connect_to(const Target& target, Deadline deadline, const std::string& where) {
  Descriptor socket(::socket(target.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return system_error("cannot make a socket", errno, where);
  if (::connect(socket.get(), target.address, target.bytes) != 0) {
    if (errno != EINPROGRESS) return system_error("cannot connect", errno, where);
    KVERN_TRY_STATUS(wait_until_ready(socket, Readiness::kWrite, deadline, where));
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return system_error("cannot connect", error, where);
  }
  const int yes = 1;
  if (target.family != AF_UNIX) ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return socket;
}

Result<Descriptor> connect_unix(const RedisUrl& url, Deadline deadline, const std::string& where) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (url.socket.size() >= sizeof address.sun_path)
    return fail(ErrorCode::kInvalidArgument, "the path of the socket is too long", url.socket);
  std::memcpy(address.sun_path, url.socket.data(), url.socket.size());
  return connect_to({AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address}, deadline, where);
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::unexpected<Error> connection_error(std::string message, const std::string& where) {
  return std::unexpected(
      Error{.code = ErrorCode::kIo, .message = std::move(message), .where = where, .retryable = true});
}

Status wait_until_ready(const Descriptor& socket, Readiness what, Deadline deadline,
                        const std::string& where) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return connection_error("the server did not answer in time", where);
    const short events = what == Readiness::kRead ? POLLIN : POLLOUT;
    pollfd wanted{.fd = socket.get(), .events = events, .revents = 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::min<int64_t>(left.count(), 1 << 30)));
    if (ready > 0) return Ok{};
    if (ready < 0 && errno != EINTR) return system_error("cannot wait for the server", errno, where);
  }
}

Result<Descriptor> connect_socket(const RedisUrl& url, Deadline deadline, const std::string& where) {
  if (!url.socket.empty()) return connect_unix(url, deadline, where);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found);
  if (code != 0) return connection_error(std::string("no such host: ") + ::gai_strerror(code), where);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
  Result<Descriptor> socket = connection_error("the host has no address", where);
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    socket = connect_to({at->ai_family, at->ai_addr, at->ai_addrlen}, deadline, where);
    if (socket) break;
  }
  return socket;
}

}  // namespace kvern::store
