#include "server/http/raw_client.h"

#include <charconv>

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/http/header_names.h"

namespace kvern::test {
namespace {

constexpr int kPatienceMs = 20'000;

size_t number(std::string_view text, int base) {
  size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

}  // namespace

std::optional<std::string> RawResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (server::same_header_name(key, name)) return value;
  return std::nullopt;
}

RawClient::RawClient(uint16_t port, const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return;
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
    fd_ = fd;
  } else {
    ::close(fd);
  }
  ::freeaddrinfo(found);
}

RawClient::~RawClient() { close(); }

void RawClient::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void RawClient::finish_writing() { ::shutdown(fd_, SHUT_WR); }

void RawClient::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close();
}

void RawClient::keep_small_buffer() {
  const int bytes = 4096;
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool RawClient::fill() {
  pollfd wanted{.fd = fd_, .events = POLLIN, .revents = 0};
  if (::poll(&wanted, 1, kPatienceMs) != 1) return false;
  char buffer[16384];
  const ssize_t got = ::recv(fd_, buffer, sizeof(buffer), 0);
  if (got <= 0) return false;
  inbox_.append(buffer, static_cast<size_t>(got));
  return true;
}

std::string RawClient::read_until(std::string_view end) {
  size_t at = inbox_.find(end);
  while (at == std::string::npos) {
    if (!fill()) return std::exchange(inbox_, {});
    at = inbox_.find(end);
  }
  std::string part = inbox_.substr(0, at + end.size());
  inbox_.erase(0, at + end.size());
  return part;
}

std::string RawClient::read_chunk() {
  const size_t size = number(read_until("\r\n"), 16);
  while (inbox_.size() < size + 2)
    if (!fill()) return {};
  std::string data = inbox_.substr(0, size);
  inbox_.erase(0, size + 2);
  return data;
}

RawResponse RawClient::read_response(bool head) {
  RawResponse response;
  std::string_view rest;
  const std::string text = read_until("\r\n\r\n");
  if (!text.ends_with("\r\n\r\n")) return response;
  rest = text;
  response.status = static_cast<int>(number(rest.substr(rest.find(' ') + 1, 3), 10));
  rest.remove_prefix(rest.find("\r\n") + 2);
  while (rest != "\r\n") {
    const std::string_view line = rest.substr(0, rest.find("\r\n"));
    rest.remove_prefix(line.size() + 2);
    const size_t colon = line.find(": ");
    response.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  response.whole = true;
  if (head || response.status < 200) return response;
  if (response.header("Transfer-Encoding")) {
    for (std::string data = read_chunk(); !data.empty(); data = read_chunk()) response.body += data;
  } else if (const auto length = response.header("Content-Length")) {
    const size_t size = number(*length, 10);
    while (inbox_.size() < size && fill()) {
    }
    response.whole = inbox_.size() >= size;
    response.body = inbox_.substr(0, size);
    inbox_.erase(0, size);
  } else if (response.status != 204) {
    while (fill()) {
    }
    response.body = std::exchange(inbox_, {});
  }
  return response;
}

bool RawClient::at_end() {
  if (!inbox_.empty()) return false;
  pollfd wanted{.fd = fd_, .events = POLLIN, .revents = 0};
  if (::poll(&wanted, 1, kPatienceMs) != 1) return false;
  char byte = 0;
  return ::recv(fd_, &byte, 1, 0) <= 0;
}

}  // namespace kvern::test
