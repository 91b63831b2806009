// What the transport may be told: where to listen, and what a client may take from it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvern::server {

/// Every one of them is enforced. A client that exceeds one gets the answer that stands beside it, if it can
/// still be given one.
struct HttpLimits {
  size_t header_bytes = size_t{32} << 10;  ///< request line and headers: 431
  size_t target_bytes = size_t{8} << 10;   ///< path and query: 414
  size_t body_bytes = size_t{32} << 20;    ///< 413, before it is read where its length is announced
  size_t queued_bytes = size_t{8} << 20;   ///< of one stream that its client does not read: closed
  size_t connections = 2048;               ///< at the same time: 503
  size_t waiting_requests = 256;           ///< complete, but no worker is free: 503
  /// From a request's first byte to the end of its headers; also for the TLS handshake: 408.
  std::chrono::milliseconds header_timeout{10'000};
  /// For a body, beyond one second for each KiB of it: 408.
  std::chrono::milliseconds body_timeout{30'000};
  /// Between requests: closed.
  std::chrono::milliseconds idle_timeout{120'000};
  /// In which a client that is being sent to takes nothing: closed.
  std::chrono::milliseconds write_timeout{30'000};
};

struct ListenAddress {
  std::string host;   ///< an address or a name; every address of a name is listened on
  uint16_t port = 0;  ///< 0: any free one
  bool operator==(const ListenAddress&) const = default;
};

/// "127.0.0.1:8080", "[::1]:8080".
std::string to_string(const ListenAddress& address);

/// Contents, not paths.
struct TlsIdentity {
  std::string certificate_chain_pem;
  std::string private_key_pem;
};

struct HttpServerOptions {
  std::vector<ListenAddress> listen;
  std::optional<TlsIdentity> tls;  ///< TLS 1.2 or newer on all addresses
  HttpLimits limits;
  int io_threads = 1;
  int workers = 2;  ///< threads that run handlers
};

}  // namespace kvern::server
