// Where a Redis server is, as people write it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvern::store {

/// redis://[[user]:password@]host[:port][/database], rediss:// for TLS,
/// unix://[[user]:password@]/path[?db=n]. User and password may have %-escapes.
struct RedisUrl {
  std::string host;  ///< without the brackets of an IPv6 address; empty for a socket
  uint16_t port = 6379;
  std::string socket;  ///< path of a Unix socket
  bool tls = false;
  std::string user;      ///< empty: the server's default user
  std::string password;  ///< empty: none
  int database = 0;

  /// For messages: everything but the password.
  std::string to_string() const;
};

/// kInvalidArgument says what is wrong, and never shows a password.
Result<RedisUrl> parse_redis_url(std::string_view text);

}  // namespace kvern::store
