#include "server/http/stream.h"

#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

namespace kvern::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

void close_socket(tcp::socket& socket) {
  error_code ignored;
  socket.close(ignored);
}

class PlainStream : public Stream {
 public:
  explicit PlainStream(tcp::socket socket) : socket_(std::move(socket)) {}

  asio::any_io_executor executor() override { return socket_.get_executor(); }
  void handshake(std::function<void(const error_code&)> handler) override {
    asio::post(executor(), [handler = std::move(handler)] { handler({}); });
  }
  void read_some(asio::mutable_buffer buffer, IoHandler handler) override {
    socket_.async_read_some(buffer, std::move(handler));
  }
  void write_some(asio::const_buffer buffer, IoHandler handler) override {
    socket_.async_write_some(buffer, std::move(handler));
  }
  void finish_writing(std::function<void()> done) override {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    done();
  }
  void close() override { close_socket(socket_); }

 private:
  tcp::socket socket_;
};

class TlsStream : public Stream {
 public:
  TlsStream(tcp::socket socket, asio::ssl::context& context) : stream_(std::move(socket), context) {}

  asio::any_io_executor executor() override { return stream_.get_executor(); }
  void handshake(std::function<void(const error_code&)> handler) override {
    stream_.async_handshake(asio::ssl::stream_base::server, std::move(handler));
  }
  void read_some(asio::mutable_buffer buffer, IoHandler handler) override {
    stream_.async_read_some(buffer, std::move(handler));
  }
  void write_some(asio::const_buffer buffer, IoHandler handler) override {
    stream_.async_write_some(buffer, std::move(handler));
  }
  void finish_writing(std::function<void()> done) override {
    stream_.async_shutdown([done = std::move(done)](const error_code&) { done(); });
  }
  void close() override { close_socket(stream_.next_layer()); }

 private:
  asio::ssl::stream<tcp::socket> stream_;
};

std::unexpected<Error> bad_identity(const char* what, const error_code& ec) {
  return fail(ErrorCode::kInvalidArgument, std::string(what) + ": " + ec.message(), "TLS");
}

}  // namespace

std::unique_ptr<Stream> make_plain_stream(tcp::socket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

std::unique_ptr<Stream> make_tls_stream(tcp::socket socket, asio::ssl::context& context) {
  return std::make_unique<TlsStream>(std::move(socket), context);
}

Result<std::shared_ptr<asio::ssl::context>> make_tls_context(const TlsIdentity& identity) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  error_code ec;
  context->set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1 |
                           asio::ssl::context::no_sslv3 | asio::ssl::context::single_dh_use,
                       ec);
  if (ec) return bad_identity("cannot be set up", ec);
  context->use_certificate_chain(asio::buffer(identity.certificate_chain_pem), ec);
  if (ec) return bad_identity("the certificate is not a PEM chain", ec);
  context->use_private_key(asio::buffer(identity.private_key_pem), asio::ssl::context::pem, ec);
  if (ec) return bad_identity("the key is not a PEM key without a password, or of another certificate", ec);
  if (SSL_CTX_check_private_key(context->native_handle()) != 1)
    return fail(ErrorCode::kInvalidArgument, "the key does not belong to the certificate", "TLS");
  return context;
}

}  // namespace kvern::server
