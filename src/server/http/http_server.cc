#include "server/http/http_server.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <random>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <fmt/format.h>

#include "base/mutex.h"
#include "server/http/connection.h"
#include "server/http/listener.h"
#include "server/http/stream.h"

namespace kvern::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

/// Connections beyond the limit are told so, this many at a time; others wait to be accepted.
constexpr size_t kOverloadedConnections = 64;
/// After accepting failed (no descriptors, usually).
constexpr std::chrono::milliseconds kAcceptPause{100};

std::string random_salt() {
  std::random_device device;
  return fmt::format("{:08x}", device());
}

std::string peer_of(const tcp::socket& socket) {
  error_code ec;
  const tcp::endpoint endpoint = socket.remote_endpoint(ec);
  return ec ? std::string() : endpoint.address().to_string();
}

}  // namespace

/// Connections live as long as their pending operations hold them; `open` counts them, so that the io_context
/// outlives all.
struct HttpServer::Impl {
  Impl(const HttpServerOptions& given, const Parts& given_parts)
      : options(given),
        parts(given_parts),
        workers({.threads = given.workers, .capacity = given.limits.waiting_requests}, given_parts.log),
        host{.limits = given.limits,
             .application = given_parts.application,
             .clock = given_parts.clock,
             .log = given_parts.log,
             .workers = workers,
             .id_salt = random_salt()},
        context(given.io_threads),
        work(context.get_executor()),
        accept_strand(asio::make_strand(context)) {}

  Status listen();
  void run();
  void accept(size_t listener);
  void pause_and_accept(size_t listener);
  void admit(tcp::socket socket);
  void forget(uint64_t id);

  template <typename Call>
  void for_each_connection(Call call) {
    std::vector<std::shared_ptr<Connection>> present;
    {
      const MutexLock lock(mutex);
      for (const auto& [id, weak] : connections)
        if (auto connection = weak.lock()) present.push_back(std::move(connection));
    }
    for (const auto& connection : present) call(*connection);
  }

  const HttpServerOptions options;
  const Parts parts;
  std::shared_ptr<asio::ssl::context> tls;
  WorkerPool workers;
  ConnectionHost host;

  mutable Mutex mutex;
  std::condition_variable_any changed;
  std::map<uint64_t, std::weak_ptr<Connection>> connections KVERN_GUARDED_BY(mutex);
  bool stopping KVERN_GUARDED_BY(mutex) = false;
  uint64_t accepted KVERN_GUARDED_BY(mutex) = 0;
  uint64_t overloaded KVERN_GUARDED_BY(mutex) = 0;

  asio::io_context context;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  asio::strand<asio::io_context::executor_type> accept_strand;
  std::vector<tcp::acceptor> acceptors;  // after start: on the strand, as the pauses
  std::vector<std::unique_ptr<asio::steady_timer>> pauses;
  std::vector<ListenAddress> bound;
  std::vector<std::thread> threads;
};

Status HttpServer::Impl::listen() {
  if (options.tls) {
    KVERN_TRY(tls, make_tls_context(*options.tls));
  }
  KVERN_TRY(acceptors, listen_on(accept_strand, options.listen));
  for (const tcp::acceptor& acceptor : acceptors) {
    const tcp::endpoint endpoint = acceptor.local_endpoint();
    bound.push_back({.host = endpoint.address().to_string(), .port = endpoint.port()});
    pauses.push_back(std::make_unique<asio::steady_timer>(accept_strand));
  }
  return Ok{};
}

void HttpServer::Impl::run() {
  for (;;) {
    try {
      context.run();
      return;
    } catch (const std::exception& error) {
      // One connection's fault (memory, usually): its deadlines end it.
      parts.log.log(LogLevel::kError, std::string("a connection failed: ") + error.what());
    }
  }
}

void HttpServer::Impl::accept(size_t listener) {
  acceptors[listener].async_accept(
      asio::make_strand(context), [this, listener](const error_code& ec, tcp::socket socket) {
        if (!acceptors[listener].is_open()) return;
        if (ec) {
          parts.log.log(LogLevel::kWarning, "cannot accept a connection: " + ec.message());
          return pause_and_accept(listener);
        }
        admit(std::move(socket));
        accept(listener);
      });
}

void HttpServer::Impl::pause_and_accept(size_t listener) {
  pauses[listener]->expires_after(kAcceptPause);
  pauses[listener]->async_wait([this, listener](const error_code& ec) {
    if (!ec && acceptors[listener].is_open()) accept(listener);
  });
}

void HttpServer::Impl::admit(tcp::socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  Connection::Options connection_options{.peer = peer_of(socket)};
  std::unique_ptr<Stream> stream =
      tls ? make_tls_stream(std::move(socket), *tls) : make_plain_stream(std::move(socket));
  std::shared_ptr<Connection> connection;
  {
    const MutexLock lock(mutex);
    if (stopping) return;
    ++accepted;
    const size_t limit = options.limits.connections;
    connection_options.overloaded = connections.size() >= limit;
    if (connection_options.overloaded) ++overloaded;
    if (connections.size() >= limit + kOverloadedConnections) return;
    const uint64_t id = accepted;
    connection = std::shared_ptr<Connection>(
        new Connection(std::move(stream), host, std::move(connection_options)), [this, id](Connection* gone) {
          delete gone;
          forget(id);
        });
    connections.emplace(id, connection);
  }
  connection->start();
}

void HttpServer::Impl::forget(uint64_t id) {
  const MutexLock lock(mutex);
  connections.erase(id);
  if (connections.empty()) changed.notify_all();
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpServerOptions& options, const Parts& parts) {
  auto impl = std::make_unique<Impl>(options, parts);
  KVERN_TRY_STATUS(impl->listen());
  for (size_t i = 0; i < impl->acceptors.size(); ++i) impl->accept(i);
  for (int i = 0; i < options.io_threads; ++i) impl->threads.emplace_back([raw = impl.get()] { raw->run(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::~HttpServer() {
  stop_accepting();
  impl_->for_each_connection([](Connection& connection) { connection.abort(); });
  // Every operation of a closed connection ends at once, and the last one lets go of it.
  wait_until_idle(std::chrono::seconds(10));
  impl_->work.reset();
  impl_->context.stop();
  for (std::thread& thread : impl_->threads) thread.join();
}

std::vector<ListenAddress> HttpServer::addresses() const { return impl_->bound; }

HttpServerStats HttpServer::stats() const {
  HttpServerStats stats{.requests = impl_->host.requests,
                        .queued_bytes = *impl_->host.queued_bytes,
                        .waiting_handlers = static_cast<int64_t>(impl_->workers.waiting())};
  const MutexLock lock(impl_->mutex);
  stats.accepted = impl_->accepted;
  stats.overloaded = impl_->overloaded;
  stats.connections = static_cast<int64_t>(impl_->connections.size());
  return stats;
}

WorkerPool& HttpServer::workers() { return impl_->workers; }

void HttpServer::stop_accepting() {
  {
    const MutexLock lock(impl_->mutex);
    if (std::exchange(impl_->stopping, true)) return;
  }
  asio::post(impl_->accept_strand, [impl = impl_.get()] {
    error_code ignored;
    for (tcp::acceptor& acceptor : impl->acceptors) acceptor.close(ignored);
    for (const auto& pause : impl->pauses) pause->cancel();
  });
  impl_->for_each_connection([](Connection& connection) { connection.drain(); });
}

bool HttpServer::wait_until_idle(std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  const MutexLock lock(impl_->mutex);
  while (!impl_->connections.empty()) {
    if (impl_->changed.wait_until(impl_->mutex, end) == std::cv_status::timeout)
      return impl_->connections.empty();
  }
  return true;
}

Status check_http_options(const HttpServerOptions& options) {
  if (options.tls) {
    KVERN_TRY([[maybe_unused]] const auto tls, make_tls_context(*options.tls));
  }
  asio::io_context context;
  KVERN_TRY([[maybe_unused]] const auto acceptors, listen_on(context.get_executor(), options.listen));
  return Ok{};
}

}  // namespace kvern::server
