// A connected socket, plain or with TLS, behind one interface. Internal to the transport: brings Asio along.
#pragma once

#include <functional>
#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/result.h"
#include "server/http/http_options.h"

namespace boost::asio::ssl {
class context;  // NOLINT(readability-identifier-naming): the name of the library
}

namespace kvern::server {

using IoHandler = std::function<void(const boost::system::error_code&, size_t)>;

/// One thread at a time, that of its executor, where handlers run too. At most one read and one write at
/// once. After close() the handlers that wait are called with an error.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual boost::asio::any_io_executor executor() = 0;
  virtual void handshake(std::function<void(const boost::system::error_code&)> handler) = 0;
  virtual void read_some(boost::asio::mutable_buffer buffer, IoHandler handler) = 0;
  virtual void write_some(boost::asio::const_buffer buffer, IoHandler handler) = 0;
  /// Tells the other side that nothing more comes, then calls `done`. What it sends can still be read.
  virtual void finish_writing(std::function<void()> done) = 0;
  virtual void close() = 0;
};

std::unique_ptr<Stream> make_plain_stream(boost::asio::ip::tcp::socket socket);
std::unique_ptr<Stream> make_tls_stream(boost::asio::ip::tcp::socket socket,
                                        boost::asio::ssl::context& context);

/// A server's context: TLS 1.2 or newer. kInvalidArgument when certificate or key cannot be read, or do not
/// belong together.
Result<std::shared_ptr<boost::asio::ssl::context>> make_tls_context(const TlsIdentity& identity);

}  // namespace kvern::server
