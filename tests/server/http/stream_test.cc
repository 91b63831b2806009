// TLS end to end, with a certificate that the test makes.
#include "server/http/stream.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "server/http/test_server.h"
#include "support/result_matchers.h"

namespace kvern::test {
namespace {

template <typename T, void (*kFree)(T*)>
struct Freer {
  void operator()(T* object) const { kFree(object); }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509, X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Freer<SSL_CTX, SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Freer<SSL, SSL_free>>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

/// Signed by itself, for "localhost".
server::TlsIdentity make_identity() {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"),
                             -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  BIO* certificate_text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(certificate_text, certificate.get());
  BIO* key_text = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(key_text, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {.certificate_chain_pem = text_of(certificate_text), .private_key_pem = text_of(key_text)};
}

/// A blocking TLS client.
class TlsClient {
 public:
  TlsClient(uint16_t port, int newest_version) : context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_max_proto_version(context_.get(), newest_version);
    BIO* bio = BIO_new_connect(("127.0.0.1:" + std::to_string(port)).c_str());
    if (BIO_do_connect(bio) != 1) return;
    session_.reset(SSL_new(context_.get()));
    SSL_set_bio(session_.get(), bio, bio);
    connected_ = SSL_connect(session_.get()) == 1;
  }
  bool connected() const { return connected_; }
  void send(const std::string& text) {
    SSL_write(session_.get(), text.data(), static_cast<int>(text.size()));
  }
  /// Everything up to the end; `clean` when the server said that it ends.
  std::string read_all(bool& clean) {
    std::string all;
    char buffer[4096];
    int got = 0;
    while ((got = SSL_read(session_.get(), buffer, sizeof(buffer))) > 0)
      all.append(buffer, static_cast<size_t>(got));
    clean = SSL_get_error(session_.get(), got) == SSL_ERROR_ZERO_RETURN;
    return all;
  }

 private:
  Context context_;
  Session session_;
  bool connected_ = false;
};

class TlsTest : public HttpServerTest {};

TEST_F(TlsTest, AnswersOverTlsAndEndsCleanly) {
  options.tls = make_identity();
  route_text("/a", "secret");
  start();
  TlsClient client(port(), TLS1_3_VERSION);
  ASSERT_TRUE(client.connected());
  client.send(get("/a") + get("/a", "Connection: close\r\n"));
  bool clean = false;
  const std::string all = client.read_all(clean);
  EXPECT_TRUE(all.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(all.ends_with("secret"));
  EXPECT_TRUE(clean);
}

TEST_F(TlsTest, RefusesVersionsBefore12) {
  options.tls = make_identity();
  start();
  EXPECT_FALSE(TlsClient(port(), TLS1_1_VERSION).connected());
  EXPECT_TRUE(TlsClient(port(), TLS1_2_VERSION).connected());
}

TEST_F(TlsTest, AClientThatTalksPlainlyIsClosedAndHarmsNobody) {
  options.tls = make_identity();
  route_text("/a", "x");
  start();
  RawClient plain = connect();
  plain.send(get("/a"));
  EXPECT_TRUE(plain.read_until("HTTP").find("HTTP/1.1 200") == std::string::npos);
  EXPECT_TRUE(TlsClient(port(), TLS1_3_VERSION).connected());
}

TEST_F(TlsTest, AClientThatIsGoneIsNoticed) {
  options.tls = make_identity();
  Signal started;
  Signal gone;
  std::shared_ptr<server::Exchange> held;
  route("GET", "/waits", [&](std::shared_ptr<server::Exchange> exchange) {
    exchange->on_close([&] { gone.set(); });
    held = std::move(exchange);
    started.set();
  });
  start();
  {
    TlsClient client(port(), TLS1_3_VERSION);
    client.send(get("/waits"));
    ASSERT_TRUE(started.wait());
  }
  EXPECT_TRUE(gone.wait());
  http.reset();
}

TEST(TlsContext, SaysWhatIsWrongWithFiles) {
  const server::TlsIdentity good = make_identity();
  EXPECT_OK(server::make_tls_context(good));
  EXPECT_ERROR(
      server::make_tls_context({.certificate_chain_pem = "x", .private_key_pem = good.private_key_pem}),
      kInvalidArgument, "certificate");
  EXPECT_ERROR(
      server::make_tls_context({.certificate_chain_pem = good.certificate_chain_pem, .private_key_pem = ""}),
      kInvalidArgument, "key");
  EXPECT_ERROR(server::make_tls_context({.certificate_chain_pem = good.certificate_chain_pem,
                                         .private_key_pem = make_identity().private_key_pem}),
               kInvalidArgument, "key");
}

}  // namespace
}  // namespace kvern::test
