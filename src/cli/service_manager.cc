#include "cli/service_manager.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace kvern::cli {

ServiceManager ServiceManager::from_environment() {
  const char* path = std::getenv("NOTIFY_SOCKET");
  return ServiceManager(path == nullptr ? "" : path);
}

void ServiceManager::send(const std::string& state) const {
  sockaddr_un address{};
  if (socket_path_.empty() || socket_path_.size() >= sizeof(address.sun_path)) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_path_.data(), socket_path_.size());
  if (socket_path_.front() == '@') address.sun_path[0] = '\0';  // a name without a file (unix(7), abstract)
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_path_.size());
  // Whether it arrives changes nothing here: the manager acts on its own deadlines.
  [[maybe_unused]] const ssize_t sent = ::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                                                 reinterpret_cast<const sockaddr*>(&address), length);
  ::close(fd);
}

}  // namespace kvern::cli
