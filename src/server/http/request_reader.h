// From bytes to requests (RFC 9112), by Boost.Beast's parser. No sockets: what arrives is given in pieces of
// any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"
#include "server/http/http_error.h"
#include "server/http/http_options.h"

namespace kvern::server {

/// Reads one request. One thread.
class RequestReader {
 public:
  enum class State : uint8_t {
    kHead,    ///< more is needed
    kBody,    ///< the head is complete; the body is not
    kDone,    ///< nothing more is taken
    kFailed,  ///< failure() says why; the connection's bytes have no meaning any more
  };

  explicit RequestReader(const HttpLimits& limits);
  ~RequestReader();
  RequestReader(RequestReader&&) noexcept;
  RequestReader& operator=(RequestReader&&) noexcept;

  /// Takes bytes and says how many; the others are given again, with more behind them. Stops behind the head,
  /// so that the caller decides before the body is read.
  size_t consume(std::string_view bytes);

  /// Takes empty lines, which mean nothing before a request (RFC 9112, section 2.2: clients send one behind a
  /// body now and then); only a few. So does consume(); here the request has not begun then.
  size_t skip_empty_lines(std::string_view bytes);

  State state() const;
  const ApiError& failure() const;
  /// Whether a byte of this request has come.
  bool begun() const;

  // From here on: of a head that is complete.

  /// The body is complete in State::kDone. `client`, `id` and `usage` are not set here.
  HttpRequest& request();
  const std::vector<std::string>& segments() const;
  bool is_http_1_0() const;
  /// Whether the client wants the connection to stay, as version and Connection say.
  bool keep_alive() const;
  bool expects_continue() const;
  std::optional<uint64_t> content_length() const;
  /// Bodies longer than this fail with 413, one that is announced to be so at once.
  void set_body_limit(size_t bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvern::server
