#include "store/remote/tls_stream.h"

#include <algorithm>
#include <string>
#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace kvern::store {
namespace {

struct FreeOpenSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};
template <typename T>
using Owned = std::unique_ptr<T, FreeOpenSsl>;

class TlsStream final : public ByteStream {
 public:
  TlsStream(Descriptor socket, std::string where) : socket_(std::move(socket)), where_(std::move(where)) {}

  Status open(const RedisUrl& url, const TlsTrust& trust, Deadline deadline) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    if (context_ == nullptr) return tls_error("no TLS context");
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    // What is sent again after a wait may lie elsewhere.
    SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    KVERN_TRY_STATUS(load_trust(trust));
    ssl_.reset(SSL_new(context_.get()));
    if (ssl_ == nullptr || SSL_set_fd(ssl_.get(), socket_.get()) != 1) return tls_error("no TLS connection");
    SSL_set_tlsext_host_name(ssl_.get(), url.host.c_str());
    const bool is_address = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), url.host.c_str()) == 1;
    if (!is_address && SSL_set1_host(ssl_.get(), url.host.c_str()) != 1)
      return tls_error("this host cannot be asked for");
    KVERN_TRY([[maybe_unused]] const size_t nothing, finish(deadline, [&](size_t& count) {
                count = 0;
                return SSL_connect(ssl_.get());
              }));
    return Ok{};
  }

  Status send(std::span<const std::byte> bytes, Deadline deadline) override {
    while (!bytes.empty()) {
      KVERN_TRY(const size_t sent, finish(deadline, [&](size_t& count) {
                  return SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
                }));
      bytes = bytes.subspan(sent);
    }
    return Ok{};
  }

  Result<size_t> receive(std::span<std::byte> out, Deadline deadline) override {
    return finish(deadline,
                  [&](size_t& count) { return SSL_read_ex(ssl_.get(), out.data(), out.size(), &count); });
  }

 private:
  // Repeats an operation until it is done.
  template <typename Operation>
  Result<size_t> finish(Deadline deadline, const Operation& operation) {
    while (true) {
      ERR_clear_error();
      size_t count = 0;
      const int done = operation(count);
      if (done == 1) return count;
      switch (SSL_get_error(ssl_.get(), done)) {
        case SSL_ERROR_WANT_READ:
          KVERN_TRY_STATUS(wait_until_ready(socket_, Readiness::kRead, deadline, where_));
          break;
        case SSL_ERROR_WANT_WRITE:
          KVERN_TRY_STATUS(wait_until_ready(socket_, Readiness::kWrite, deadline, where_));
          break;
        case SSL_ERROR_ZERO_RETURN:
          return connection_error("the server closed the connection", where_);
        default:
          return tls_error("TLS failed");
      }
    }
  }

  Status load_trust(const TlsTrust& trust) {
    if (trust.authorities_pem.empty()) {
      if (SSL_CTX_set_default_verify_paths(context_.get()) != 1)
        return tls_error("the system's authorities cannot be read");
      return Ok{};
    }
    const Owned<BIO> bio(
        BIO_new_mem_buf(trust.authorities_pem.data(), static_cast<int>(trust.authorities_pem.size())));
    int count = 0;
    while (bio != nullptr) {
      const Owned<X509> certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
      if (certificate == nullptr) break;
      if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), certificate.get()) == 1) ++count;
    }
    ERR_clear_error();
    if (count > 0) return Ok{};
    return fail(ErrorCode::kInvalidArgument, "the file of authorities has no certificate in it", where_);
  }

  std::unexpected<Error> tls_error(const char* what) const {
    std::string message = what;
    if (ssl_ != nullptr) {
      if (const long verdict = SSL_get_verify_result(ssl_.get()); verdict != X509_V_OK)
        return connection_error(message + ": " + X509_verify_cert_error_string(verdict), where_);
    }
    if (const unsigned long code = ERR_get_error(); code != 0) {
      const char* reason = ERR_reason_error_string(code);
      message += std::string(": ") + (reason != nullptr ? reason : "unknown");
    } else {
      message += ": the connection ended";
    }
    return connection_error(std::move(message), where_);
  }

  Descriptor socket_;
  std::string where_;
  Owned<SSL_CTX> context_;
  Owned<SSL> ssl_;
};

}  // namespace

Result<std::unique_ptr<ByteStream>> open_tls_stream(Descriptor socket, const RedisUrl& url,
                                                    const TlsTrust& trust, Deadline deadline) {
  auto stream = std::make_unique<TlsStream>(std::move(socket), url.to_string());
  KVERN_TRY_STATUS(stream->open(url, trust, deadline));
  return stream;
}

}  // namespace kvern::store
