// Redis servers for tests: a real one on a Unix socket of its own, and ones that misbehave.
#pragma once

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "store/entries.h"
#include "store/remote/remote_store.h"
#include "support/temporary_directory.h"

namespace kvern::store::test {

inline RedisUrl socket_url(const std::string& path) {
  RedisUrl url;
  url.socket = path;
  return url;
}

/// Debian's redis-server without persistence, ended by the destructor.
class RealRedis {
 public:
  static bool is_installed() {
    for (const char* path : {"/usr/bin/redis-server", "/usr/local/bin/redis-server"}) {
      if (::access(path, X_OK) == 0) return true;
    }
    return false;
  }

  explicit RealRedis(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {
        "redis-server",     "--port", "0",     "--unixsocket", socket(),     "--save",  "",
        "--appendonly",     "no",     "--dir", folder_.path(), "--loglevel", "warning", "--logfile",
        folder_.file("log")};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execvp("redis-server", arguments.data());
      ::_exit(127);
    }
    // It listens when its socket is there and takes a connection.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!RedisConnection::open(socket_url(socket()), {}, end) && std::chrono::steady_clock::now() < end) {
      KVERN_CHECK(::waitpid(pid_, nullptr, WNOHANG) == 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  RealRedis(const RealRedis&) = delete;
  RealRedis& operator=(const RealRedis&) = delete;
  ~RealRedis() { stop(); }

  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  std::string socket() const { return folder_.file("socket"); }
  std::string file(std::string_view name) const { return folder_.file(name); }
  RedisUrl url() const { return socket_url(socket()); }

  /// One command, for what tests want to see or break.
  RedisReply ask(const RedisCommand& command) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    auto connection = RedisConnection::open(url(), {}, end);
    KVERN_CHECK(connection.has_value());
    auto replies = (*connection)->call({&command, 1}, end);
    KVERN_CHECK(replies.has_value());
    return std::move(replies->front());
  }
  std::vector<std::string> keys(const std::string& pattern) const {
    std::vector<std::string> names;
    for (RedisReply& item : ask({"KEYS", pattern}).items) names.push_back(std::move(item.text));
    return names;
  }

 private:
  kvern::test::TemporaryDirectory folder_;
  pid_t pid_ = 0;
};

/// A server that does with each connection what it is told; listens on a Unix socket.
class FakeServer {
 public:
  /// Called on a thread of its own with the descriptor of a connection, which is closed afterwards. Must end
  /// once is_stopping().
  using Serve = std::function<void(FakeServer&, int fd)>;

  explicit FakeServer(Serve serve) : serve_(std::move(serve)) {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket().c_str(), sizeof address.sun_path - 1);
    KVERN_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    KVERN_CHECK(::listen(listener_, 16) == 0 && ::pipe(stop_pipe_) == 0);
    thread_ = std::thread([this] { accept_all(); });
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  ~FakeServer() {
    stopping_ = true;
    KVERN_CHECK(::write(stop_pipe_[1], "x", 1) == 1);
    thread_.join();
    ::close(listener_);
    ::close(stop_pipe_[0]);
    ::close(stop_pipe_[1]);
  }

  bool is_stopping() const { return stopping_; }
  /// Waits for bytes of the client or the end; false at the end.
  bool wait(int fd) const {
    pollfd wanted[] = {{.fd = fd, .events = POLLIN, .revents = 0},
                       {.fd = stop_pipe_[0], .events = POLLIN, .revents = 0}};
    ::poll(wanted, 2, -1);
    return !stopping_;
  }
  void wait_for_end() const {
    pollfd wanted{.fd = stop_pipe_[0], .events = POLLIN, .revents = 0};
    ::poll(&wanted, 1, -1);
  }
  int connections() const { return connections_; }
  std::string socket() const { return folder_.file("socket"); }
  RedisUrl url() const { return socket_url(socket()); }

 private:
  void accept_all() {
    std::vector<std::thread> threads;
    while (wait(listener_)) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) continue;
      ++connections_;
      threads.emplace_back([this, fd] {
        serve_(*this, fd);
        ::close(fd);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  kvern::test::TemporaryDirectory folder_;
  Serve serve_;
  int listener_ = -1;
  int stop_pipe_[2] = {-1, -1};
  std::atomic<bool> stopping_ = false;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
};

/// Ways to misbehave.
inline void hang(FakeServer& server, int /*fd*/) { server.wait_for_end(); }
inline void close_at_once(FakeServer& /*server*/, int /*fd*/) {}
inline FakeServer::Serve answering(std::string bytes) {
  return [bytes = std::move(bytes)](FakeServer& server, int fd) {
    char input[4096];
    while (server.wait(fd) && ::recv(fd, input, sizeof input, 0) > 0) {
      if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
    }
  };
}

/// What a store on such a server needs; deadlines long enough for a loaded machine where there is an answer.
struct RemotePlace {
  ManualClock clock{std::chrono::system_clock::time_point(std::chrono::hours(24 * 365 * 50))};
  MemoryLog log;
  RemoteOptions options{.client = {.timeout = std::chrono::seconds(60)}, .chain = {.page = 16}};

  std::unique_ptr<RemoteStore> open(const RedisUrl& url) {
    options.client.url = url;
    return std::make_unique<RemoteStore>(options, clock, log);
  }
};

}  // namespace kvern::store::test
